# SPDX-License-Identifier: MIT
"""Random kernels for differ.py: the text of one file, which is OpenCL C for the GPU and C for the host.

A kernel here is a random program of its own, launched by itself, with results of its own. Several are the cases of one function,
and an argument of the launch chooses one: compilers spend more time on a function than on its statements.
"""
import re

LANES = 64
INPUT_WORDS = 64  # of each lane
OUTPUT_WORDS = 32  # of 64 bits
LDS_BYTES = 65536
INTEGERS = {"i8": (8, True), "u8": (8, False), "i16": (16, True), "u16": (16, False), "i32": (32, True), "u32": (32, False),
            "i64": (64, True), "u64": (64, False)}
FLOATS = {"f16": 16, "f32": 32, "f64": 64}
VECTORS = {"i16x2": "i16", "u16x2": "u16", "f16x2": "f16", "f32x2": "f32"}
KINDS = [*INTEGERS, *FLOATS, *VECTORS]
SCALARS = [*INTEGERS, *FLOATS]
BYTES = {kind: int(re.match(r".(\d+)", kind)[1]) // 8 * (2 if kind in VECTORS else 1) for kind in KINDS}
PRELUDE = """
typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16;
typedef int i32; typedef unsigned int u32; typedef long i64; typedef unsigned long u64;
typedef float f32; typedef double f64;
#ifdef __OPENCL_C_VERSION__
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef half f16;
#define LANE lane
#define BEGIN(name) __kernel __attribute__((reqd_work_group_size(64, 1, 1))) void name(__global const u32 *input, __global u64 *output, u32 chosen) { \\
	u32 lane = __builtin_amdgcn_workitem_id_x();
#define CODE static inline __attribute__((always_inline))
#else
typedef _Float16 f16;
#define __global
#define __local
#define LANE lane
#define BEGIN(name) void name(const u32 *input, u64 *output, u32 lane, u32 chosen) {
#define CODE static
#endif
typedef i16 i16x2 __attribute__((ext_vector_type(2))); typedef u16 u16x2 __attribute__((ext_vector_type(2)));
typedef f16 f16x2 __attribute__((ext_vector_type(2))); typedef f32 f32x2 __attribute__((ext_vector_type(2)));
#define IN(type, byte) (*(__global const type *)((__global const u8 *)input + LANE * 256 + (byte)))
#define OUT(type, at) (*(__global type *)(output + LANE * 32 + (at)))
/*
 * clang 19 takes -0 for +0 where it rounds a product to f16 (v_fma_mixlo_f16 with +0 as addend), where a constant of f16 is in the
 * upper half, and +0 for -0 where a constant 0 - x becomes -x. Of products of bytes it makes v_dot4_u32_u8 and v_dot4_i32_i8 as if
 * all operations between them were additions; the upper half of a | b of 64 bits becomes that of a where it
 * knows that of b to be ones. What passes through here it does not know.
 */
#ifdef __OPENCL_C_VERSION__
#define APART(x) __asm__("" : "+v"(x))
#else
#define APART(x)
#endif
CODE u32 apart_u32(u32 x) { APART(x); return x; }
CODE u64 apart_u64(u64 x) { APART(x); return x; }
CODE f64 apart_f64(f64 x) { APART(x); return x; }
CODE f32 apart_f32(f32 x) { APART(x); return x; }
CODE f16 apart_f16(f16 x) { APART(x); return x; }
CODE f32x2 apart_f32x2(f32x2 x) { APART(x); return x; }
CODE f16x2 apart_f16x2(f16x2 x) { APART(x); return x; }
/* Signalling NaNs become quiet before, and -0 becomes +0 after: C leaves both open. */
CODE f32 min_f32(f32 a, f32 b) { f32 z = apart_f32(0); return __builtin_fminf(a + z, b + z) + z; }
CODE f32 max_f32(f32 a, f32 b) { f32 z = apart_f32(0); return __builtin_fmaxf(a + z, b + z) + z; }
CODE f64 min_f64(f64 a, f64 b) { f64 z = apart_f64(0); return __builtin_fmin(a + z, b + z) + z; }
CODE f64 max_f64(f64 a, f64 b) { f64 z = apart_f64(0); return __builtin_fmax(a + z, b + z) + z; }
"""
# Of 32 bits, in which compilers look for an instruction with three operands. K is a constant from 1 to 31.
IDIOMS = ("({a} & {b} | ({c} & ~{b}))", "({a} + {b} + {c})", "(({a} << K) + {b})", "(({a} + {b}) << K)", "({a} & {b} | {c})", "({a} << K | {b})",
          "({a} | {b} | {c})", "(({a} ^ {b}) + {c})", "(({a} & 0xffffff) * ({b} & 0xffffff) + {c})",
          "((u32)((i32)({a} << 8) >> 8) * (u32)((i32)({b} << 8) >> 8) + {c})", "(u32)((u64){a} * {b} >> 32)",
          "(u32)((i64)(i32){a} * (i32){b} >> 32)", "(u32)(((u64){a} << 32 | {b}) >> ({c} & 31))", "(({a} >> K) & 255)",
          "(u32)((i32)({a} << 3) >> K)", "({a} & 0xff00ff | ({b} >> 8 & 0xff00))", "(({a} > {b} ? {a} - {b} : {b} - {a}) + {c})",
          "__builtin_elementwise_min(__builtin_elementwise_max({a}, 5u), 70000u)",
          "(u32)__builtin_elementwise_min(__builtin_elementwise_max((i32){a}, -9), 300)",
          "__builtin_elementwise_max(__builtin_elementwise_max({a}, {b}), {c})", "__builtin_rotateleft32({a}, {b})",
          "({a} * ({b} & 0xffff) + ({c} >> 16))", "(u32)((i32)(i16){a} * (i32)(i16){b} + (i32){c})")


def has_bytes(text):
    """Whether the compiler may see that the value has 8 bits only."""
    return re.search(r"\b[iu]8\)|& ?255", text)


class Kernel:
    """The text of one kernel. Variables are never read before they are written."""

    def __init__(self, rng, number, size, room):
        self.rng, self.number, self.size, self.room = rng, number, size, room
        self.lines, self.shared, self.count, self.depth = [], [], 0, 1
        self.variables = {kind: [] for kind in KINDS}
        self.arrays, self.given, self.fixed, self.results = [], [], set(), []

    def line(self, text):
        self.lines.append("\t" * self.depth + text)

    def fresh(self):
        self.count += 1
        return f"v{self.count}"

    def constant(self, kind):
        rng = self.rng
        if kind in FLOATS:
            value = rng.choice(["0", "-0.0", "1", "-1", "0.5", "2", "3", "-7.25", "1e-3", "1e4", "0.1", f"{rng.uniform(-100, 100):.9g}"])
            return f"apart_{kind}({value})" if float(value) == 0 else f"(({kind}){value})"
        bits, signed = INTEGERS[kind]
        edge = 1 << (bits - 1)
        value = rng.choice([0, 1, 2, 3, 5, 7, 64, 100, edge - 1, edge >> 1, rng.randrange(edge), rng.randrange(1 << min(bits - 1, 16))])
        if signed and rng.random() < 0.4:
            value = -value
        return f"(({kind}){value}{'l' if bits == 64 else ''})"

    def leaf(self, kind):
        known = self.variables[kind]
        if known and self.rng.random() < 0.75:
            return self.rng.choice(known)
        if kind in VECTORS:
            return f"(({kind}){{{self.leaf(VECTORS[kind])}, {self.leaf(VECTORS[kind])}}})"
        if self.arrays and self.rng.random() < 0.3:
            array = self.rng.choice(self.arrays)
            return self.convert(self.element(array), array[1], kind)
        if self.rng.random() < 0.1 and kind not in FLOATS:
            return f"IN({kind}, ({self.expression('u32', 1)} & {INPUT_WORDS * 4 // BYTES[kind] - 1}) * {BYTES[kind]})"
        return self.constant(kind)

    def element(self, array):
        """Of memory of the work-group each lane has its own part."""
        name, _, length, shared = array
        return f"{name}[{f'LANE * {length} + ' if shared else ''}({self.expression('u32', 1)} & {length - 1})]"

    def convert(self, text, source, target):
        if source == target:
            return text
        if source in FLOATS and target in INTEGERS:  # only what C defines: clamped first, NaN becomes 0
            limit = {8: 100, 16: 30000, 32: 2000000000, 64: 2000000000}[INTEGERS[target][0]]
            low = -limit if INTEGERS[target][1] else 0
            name = self.fresh()
            self.line(f"{source} {name} = {text};")
            if source == "f16":
                limit, low = min(limit, 60000), max(low, -60000)
            return f"(({target})({name} >= ({source}){low} && {name} <= ({source}){limit} ? {name} : ({source})0))"
        if source == "f32" and target == "f16" and not text.startswith("__builtin_fma"):
            text = f"apart_f32({text})"
        if source in INTEGERS and target in FLOATS and not re.search(r"\bv\d", text):  # a constant, which may be 0
            return f"apart_{target}(({target})({text}))"
        if source in INTEGERS and BYTES[source] == 1:
            return f"(({target})({source})({text}))"  # for has_bytes()
        return f"(({target})({text}))"

    def expression(self, kind, depth):
        if depth <= 0 or self.rng.random() < 0.1:
            return self.leaf(kind)
        return self.operation(kind, depth)

    def operation(self, kind, depth):
        if kind in VECTORS:
            return self.vector_operation(kind, depth)
        if self.rng.random() < 0.15:
            source = self.rng.choice(SCALARS)
            return self.convert(self.expression(source, depth - 1), source, kind)
        if self.rng.random() < 0.12:
            return f"({self.condition(depth - 1)} ? {self.expression(kind, depth - 1)} : {self.expression(kind, depth - 1)})"
        if self.rng.random() < 0.05:
            vector = next((name for name, element in VECTORS.items() if element == kind), None)
            if vector:
                return f"({self.expression(vector, depth - 1)}).{self.rng.choice('xy')}"
        return self.float_operation(kind, depth) if kind in FLOATS else self.integer_operation(kind, depth)

    def vector_operation(self, kind, depth):
        a, b, element = self.expression(kind, depth - 1), self.expression(kind, depth - 1), VECTORS[kind]
        if self.rng.random() < 0.1:
            return f"(({kind}){{({a}).y, {self.expression(element, depth - 1)}}})"
        if kind == "f32x2" and self.rng.random() < 0.3:
            return f"__builtin_elementwise_fma({a}, {b}, {self.expression(kind, depth - 1)})"
        if element in FLOATS:
            return self.rng.choice([f"({a} + {b})", f"(apart_{kind}({a}) - {b})", f"({a} * {b})"])
        low = "(u16x2){15, 15}"
        return self.rng.choice([*(f"({a} {operator} {b})" for operator in "+-*&|^"), f"__builtin_elementwise_min({a}, {b})",
                                f"__builtin_elementwise_max({a}, {b})", f"__builtin_elementwise_add_sat({a}, {b})",
                                f"__builtin_elementwise_sub_sat({a}, {b})",
                                f"({a} {self.rng.choice(['<<', '>>'])} __builtin_convertvector(__builtin_convertvector({b}, u16x2) & {low}, {kind}))"])

    def float_operation(self, kind, depth):
        which = self.rng.randrange(10)
        a = self.expression(kind, depth - 1)
        if which == 9 and kind != "f16" and self.rng.random() < 0.6:
            return self.float_function(kind, a)
        b = self.expression(kind, depth - 1)
        if which < 3:
            return f"({a} + {b})"
        if which < 5:
            return f"(apart_{kind}({a}) - {b})"
        if which < 7:
            return f"({a} * {b})"
        if which == 7 and self.rng.random() < 0.5:
            return f"({a} / {b})" if kind != "f16" else f"(-{a})"
        if which <= 8 and kind != "f16":
            c = self.expression(kind, depth - 1)
            return f"__builtin_fma{'f' if kind == 'f32' else ''}({a}, {b}, {c})"
        if kind == "f16":
            return f"({a} * {b})"
        name = {"f32": "f", "f64": ""}[kind]
        return self.rng.choice([f"__builtin_copysign{name}({a}, {b} < 0 ? ({kind})-1 : ({kind})1)", f"min_{kind}({a}, {b})", f"max_{kind}({a}, {b})"])

    def float_function(self, kind, a):
        name = {"f32": "f", "f64": ""}[kind]
        if self.rng.random() < 0.05:
            return f"__builtin_sqrt{name}({a})"
        if self.rng.random() < 0.1:
            return f"__builtin_ldexp{name}({a}, {self.expression('i8', 1)})"
        if kind == "f32" and self.rng.random() < 0.2:
            return f"((f32)({self.leaf('u32')} >> {self.rng.choice([8, 16])} & 255))"
        return f"__builtin_{self.rng.choice(['fabs', 'floor', 'ceil', 'trunc', 'rint', 'roundeven'])}{name}({a})"

    def integer_operation(self, kind, depth):
        bits, signed = INTEGERS[kind]
        unsigned = "u" + kind[1:]
        which = self.rng.randrange(18)
        a = self.expression(kind, depth - 1)
        if which == 17 and bits != 32:
            return self.complement(kind, a)
        if which == 13 and bits >= 32:
            return self.bit_function(kind, a)
        b = self.expression(kind, depth - 1)
        if which < 9:
            text = f"({a} {'+-*&|^+-*'[which]} {b})"
            if bits == 64 and which == 4:
                text = f"(apart_u64({a}) | apart_u64({b}))"
            hidden = "+-*&|^+-*"[which] == "*" and bits <= 32 and (bits == 8 or has_bytes(a + b))
            return f"(({kind})apart_u32((u32){text}))" if hidden else f"(({kind}){text})"
        if which < 11:
            return f"(({kind})({a} {self.rng.choice(['<<', '>>'])} (({unsigned}){b} & {bits - 1})))"
        if which == 11:
            return f"({a} {self.rng.choice(['<', '>'])} {b} ? {a} : {b})"
        if which == 12 and (bits < 64 or self.rng.random() < 0.1):  # one of 64 bits is a hundred instructions
            # clang 19 divides sign-extended operands with few bits wrongly as unsigned ones: these have all of theirs.
            whole = f" ^ {self.variables[unsigned][0]}" if bits >= 32 else ""
            return f"(({kind})(({unsigned})({a}{whole}) {self.rng.choice('/%')} ({unsigned})(({unsigned})({b}{whole}) | 1)))"
        if which == 13 or which == 14:
            return self.rng.choice([f"__builtin_elementwise_add_sat(({kind}){a}, ({kind}){b})",
                                    f"__builtin_elementwise_sub_sat(({kind}){a}, ({kind}){b})",
                                    f"__builtin_elementwise_abs(({kind}){a})" if signed else f"(({kind})__builtin_rotateleft{bits}({a}, {b}))"])
        if which >= 15 and bits == 32:
            return self.idiom(kind, a, b, depth)
        if which == 15 and bits == 64:
            return f"(({kind})((u64){self.leaf('u32')} * {self.leaf('u32')}) + {a})"
        if which == 16 and bits == 64:
            return f"(({kind})(u64)((i64){self.leaf('i32')} * {self.leaf('i32')}) - {b})"
        return f"(({kind})({self.complement(kind, a)} ^ {b}))"

    @staticmethod
    def complement(kind, a):
        return f"(({kind})({a} ^ apart_u64(~0ul)))" if BYTES[kind] == 8 else f"(({kind})(~{a}))"

    def bit_function(self, kind, a):
        bits, unsigned = INTEGERS[kind][0], "u" + kind[1:]
        suffix, a = ("l", f"apart_u64({a})") if bits == 64 else ("", a)
        return self.rng.choice([f"(({kind})__builtin_popcount{suffix}(({unsigned}){a}))",
                                f"(({kind})__builtin_clz{suffix}(({unsigned}){a} | 1))",
                                f"(({kind})__builtin_ctz{suffix}(({unsigned}){a} | (({unsigned})1 << {bits - 1})))",
                                f"(({kind})__builtin_bitreverse{bits}(({unsigned}){a}))",
                                f"(({kind})__builtin_bswap{bits}(({unsigned}){a}))"])

    def idiom(self, kind, a, b, depth):
        """Operands are used more than once, so they have names."""
        names, texts = [], (a, b, self.expression(kind, depth - 1))
        for text in texts:
            names.append(self.fresh())
            self.line(f"u32 {names[-1]} = {'apart_u32' if has_bytes(text) else ''}((u32){text});")
        text = self.rng.choice(IDIOMS).replace("K", str(self.rng.randrange(1, 32)))
        return f"(({kind}){text.format(a=names[0], b=names[1], c=names[2])})"

    def condition(self, depth):
        kind = self.rng.choice(SCALARS)
        operator = self.rng.choice(["<", ">", "<=", ">=", "==", "!="])
        return f"({self.expression(kind, depth)} {operator} {self.expression(kind, depth)})"

    def declare(self, kind, text):
        name = self.fresh()
        self.line(f"{kind} {name} = {text};")
        self.variables[kind].append(name)

    def inputs(self):
        """Declared by text() where the kernel reads or writes them."""
        rng = self.rng
        given = [*(("u32", 4 * index) for index in range(10)), ("i32", 40), ("u32", None),
                 *(("u64", 4 * index) for index in range(12, 20, 2)), ("i64", 80),
                 *(("f32", 4 * index) for index in range(22, 28)), *(("f64", 4 * index) for index in range(28, 36, 2)),
                 *(("f16", 4 * index) for index in range(36, 40)),
                 *((kind, rng.randrange(160, 192) // BYTES[kind] * BYTES[kind]) for kind in ("i8", "u8", "i16", "u16")),
                 ("i16x2", 192), ("u16x2", 196), ("f16x2", 200), ("f16x2", 204), ("f32x2", 208), ("f32x2", 216)]
        for kind, byte in given:
            name = self.fresh()
            self.variables[kind].append(name)
            self.given.append((name, f"\t{kind} {name} = {'LANE' if byte is None else f'IN({kind}, {byte})'};"))

    def assign(self):
        """In a block to a variable from outside of it, as nobody would see another."""
        own = []
        while not own:
            kind = self.rng.choice(KINDS)
            own = [name for name in self.variables[kind] if name not in self.fixed]
            if self.depth == 1:
                break
        text = self.operation(kind, self.rng.choice(self.size.depths))
        if kind in INTEGERS and BYTES[kind] in (2, 4) and has_bytes(text):
            text = f"({kind})apart_u32((u32){text})"
        if own and (self.depth > 1 or self.rng.random() < 0.5):
            self.line(f"{self.rng.choice(own)} = {text};")
        else:
            self.declare(kind, text)

    def scope(self, header, statements):
        self.line(header + " {")
        self.depth += 1
        saved = {kind: list(names) for kind, names in self.variables.items()}
        statements()
        self.variables = saved
        self.depth -= 1
        self.line("}")

    def block(self, budget):
        for _ in range(self.rng.choice(self.size.block)):
            self.statement(budget - 1)

    def statement(self, budget):
        choice = self.rng.random()
        if budget <= 0 or choice < 0.6:
            self.assign()
        elif choice < 0.75:
            condition = self.condition(1)
            self.scope(f"if {condition}", lambda: self.block(budget))
            if self.rng.random() < 0.5:
                self.scope("else", lambda: self.block(budget))
        elif choice < 0.88:
            trips = self.expression("u32", 1)
            name = self.fresh()
            self.fixed.add(name)
            self.line(f"u32 {name}_end = ({trips}) & {self.rng.choice([1, 3, 7])};")

            def body():
                self.variables["u32"].append(name)
                self.block(budget)
                if self.rng.random() < 0.3:
                    self.line(f"if {self.condition(1)} break;")
            self.scope(f"for (u32 {name} = 0; {name} < {name}_end; {name}++)", body)
        elif self.arrays:
            array = self.rng.choice(self.arrays)
            place = self.element(array)
            value = self.expression(array[1], 2)
            self.line(f"{place} = {value};")
        elif self.depth == 1:
            self.new_array()
        else:
            self.assign()

    def new_array(self):
        element, length = self.rng.choice(["u32", "f32", "u8", "i16", "u64", "f64"]), self.rng.choice([2, 4, 16])
        name, size = self.fresh(), LANES * length * BYTES[element]
        shared = self.rng.random() < 0.4 and size <= self.room
        if shared:  # OpenCL has these at the beginning of a function only
            name = f"{name}_{self.number}"
            self.room -= size
            self.shared.append(f"\t__local {element} {name}[{LANES * length}];")
        else:
            self.line(f"{element} {name}[{length}];")
        at = f"LANE * {length} + i" if shared else "i"
        self.line(f"for (u32 i = 0; i < {length}; i++) {name}[{at}] = {self.convert(self.rng.choice(self.variables['u32']), 'u32', element)};")
        self.arrays.append((name, element, length, shared))

    def variables_written(self, inputs):
        """(kind, name) of those that are visible at the end and not inputs as they were."""
        changed = inputs & set(re.findall(r"\b(v\d+) = ", "\n".join(self.lines)))
        return [(kind, name) for kind, names in self.variables.items() for name in names if name not in inputs or name in changed]

    def text(self):
        self.inputs()
        inputs = {name for name, _ in self.given}
        self.fixed |= {name for name, _ in self.given if self.rng.random() < 0.3}  # in order: a seed is always the same text
        self.fixed |= {self.variables[kind][0] for kind in ("u32", "u64")}  # operands of divisions have all their bits from them
        for _ in range(self.rng.choice(self.size.statements)):
            self.statement(self.size.nested)
        while not (results := self.variables_written(inputs)) and not self.arrays:
            self.statement(self.size.nested)
        used = set(re.findall(r"\bv\d+\b", "\n".join(self.lines)))
        results = results[-OUTPUT_WORDS + 2:]
        for number, (name, element, length, shared) in enumerate(self.arrays[-2:]):
            results.append((element, f"{name}[{f'LANE * {length} + ' if shared else ''}{number}]"))
        for at, (kind, name) in enumerate(results):
            self.line(f"OUT({kind}, {at}) = {name};")
        self.results = [kind for kind, _ in results]
        return "\n".join([*(line for name, line in self.given if name in used), *self.lines])


class Size:
    """How large kernels are: statements at the top and in a block, how deep blocks and expressions are nested, kernels in a function."""

    def __init__(self, statements, block, nested, depths, cases):
        self.statements, self.block, self.nested, self.depths, self.cases = statements, block, nested, depths, cases


SMALL = Size(statements=(1, 1, 1, 2, 2, 3), block=(1, 1, 2), nested=2, depths=(1, 2, 2, 3), cases=16)
LARGE = Size(statements=(2, 3, 5, 10), block=(1, 2, 3), nested=3, depths=(1, 2, 2, 3, 3), cases=4)


def make(rng, count, size):
    """The text of at least `count` kernels, the names of its functions, and the kinds of each kernel's results."""
    functions, names, results = [], [], []
    while len(results) < count:
        room, shared, cases = LDS_BYTES, [], []
        for number in range(size.cases):
            kernel = Kernel(rng, number, size, room)
            cases.append(f"case {number}: {{\n{kernel.text()}\n\tbreak;\n}}")
            room, shared = kernel.room, shared + kernel.shared
            results.append(kernel.results)
        names.append(f"k{len(names)}")
        functions.append("\n".join([f"BEGIN({names[-1]})", *shared, "switch (chosen) {", *cases, "}\n}\n"]))
    return PRELUDE + "\n".join(functions), names, results
