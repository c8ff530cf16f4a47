// SPDX-License-Identifier: MIT
/* The terminal of `gpreempt top`: copies the canvas, reads keys and the mouse. */
#include <errno.h>
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ncurses.h>

#include "cli/watch/top_screen.h"

/* Readable on light and dark backgrounds: the terminal's own palette on its own background. */
static void start_colours(void)
{
	static const short colours[GP_STYLES] = {[GP_STYLE_GOOD] = COLOR_GREEN,
						 [GP_STYLE_WARN] = COLOR_YELLOW,
						 [GP_STYLE_BAD] = COLOR_RED,
						 [GP_STYLE_NOTE] = COLOR_CYAN};

	start_color();
	use_default_colors();
	for (short i = 0; i < GP_STYLES; i++)
		if (colours[i])
			init_pair(i, colours[i], -1);
}

/* Without colour, bold and reverse still say what matters. */
static attr_t attributes(u32 style, bool colour)
{
	switch (style) {
	case GP_STYLE_TITLE:
		return A_REVERSE;
	case GP_STYLE_BOLD:
		return A_BOLD;
	case GP_STYLE_DIM:
		return colour ? A_DIM : A_NORMAL;
	case GP_STYLE_BAD:
		return A_BOLD | (colour ? (attr_t)COLOR_PAIR(style) : 0);
	case GP_STYLE_GOOD:
	case GP_STYLE_WARN:
	case GP_STYLE_NOTE:
		return colour ? (attr_t)COLOR_PAIR(style) : A_NORMAL;
	default:
		return A_NORMAL;
	}
}

void gp_cli_top_refresh(struct gp_cli_top_screen *screen)
{
	struct gp_cli_canvas *canvas = &screen->canvas;

	if (gp_cli_canvas_begin(canvas, COLS, LINES))
		return;
	canvas->ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	screen->rates.ascii = canvas->ascii;
	gp_cli_top_draw(screen);
	erase();
	for (int y = 0; y < canvas->height; y++) {
		/* The last column of the last line would scroll. */
		int width = canvas->width - (y == canvas->height - 1);

		for (int x = 0; x < width; x++) {
			const struct gp_cli_canvas_cell *cell =
				&canvas->cells[y * canvas->width + x];
			wchar_t text[] = {cell->character, 0};

			if (!cell->character || (cell->character == L' ' && !cell->style))
				continue;
			attrset(attributes(cell->style, screen->colour));
			mvaddwstr(y, x, text);
		}
	}
	attrset(A_NORMAL);
	refresh();
}

static void mouse(struct gp_cli_top_screen *screen)
{
	MEVENT event;

	if (getmouse(&event) != OK)
		return;
	if (event.bstate & BUTTON4_PRESSED)
		gp_cli_top_wheel(screen, -3);
	else if (event.bstate & BUTTON5_PRESSED)
		gp_cli_top_wheel(screen, 3);
	else if (event.bstate & (BUTTON1_PRESSED | BUTTON1_CLICKED))
		gp_cli_top_click(screen, event.y);
}

void gp_cli_top_read_keys(struct gp_cli_top_screen *screen)
{
	for (int key; !screen->quit && (key = getch()) != ERR;) {
		if (key == KEY_MOUSE)
			mouse(screen);
		else if (key != KEY_RESIZE) /* drawing again is all it needs */
			gp_cli_top_key(screen, key);
	}
}

/* ncurses handles stop, continue and size: it restores the terminal before stopping and redraws
 * after. */
int gp_cli_top_terminal(struct gp_cli_top_screen *screen, int signals,
			void (*loop)(struct gp_cli_top_screen *screen, int signals))
{
	const char *type = getenv("TERM");
	SCREEN *terminal;

	if (!type || strcmp(type, "dumb") == 0)
		return -ENOTTY;
	terminal = newterm(NULL, stdout, stdin);
	if (!terminal)
		return -ENOTTY;
	if (screen->colour && has_colors())
		start_colours();
	else
		screen->colour = false;
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	mousemask(BUTTON1_PRESSED | BUTTON1_CLICKED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
	mouseinterval(0);
	curs_set(0);
	set_escdelay(50);
	loop(screen, signals);
	endwin();
	delscreen(terminal);
	return 0;
}
