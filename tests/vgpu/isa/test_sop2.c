// SPDX-License-Identifier: MIT
/* SOP2: every operation with operands at the edges and others. */
#include "machine.h"

#define RESULT_BEFORE 0x1111111122222222ull

/* The word, s[2:3], s[6:7] and SCC before; s[4:5] and SCC after. */
static const struct {
	u32 word;
	u64 a, b;
	bool scc;
	u64 result;
	bool scc_after;
} cases[] = {
	/* clang-format off */
	/* s_and_b32 s4, s2, s6 */
	{0x86040602, 0xdead0001ffffffff, 0xbeef000200000002, 0, 0x1111111100000002, 1},
	{0x86040602, 0xdead0001a6a3a450, 0xbeef00020c5c7fd0, 0, 0x1111111104002450, 1},
	{0x86040602, 0xdead0001ffff3333, 0xbeef000200000001, 0, 0x1111111100000001, 1},
	{0x86040602, 0xdead00019531985d, 0xbeef00020ed90475, 1, 0x1111111104110055, 1},
	/* s_and_b64 s[4:5], s[2:3], s[6:7] */
	{0x86840602, 0x7fffffffffff3333, 0x100000000, 0, 0x100000000, 1},
	{0x86840602, 0x11e20b8f6b0d549b, 0x1738f7d93d9c1724, 1, 0x11200389290c1400, 1},
	{0x86840602, 0xfffffffe, 0x155555555, 1, 0x55555554, 1},
	{0x86840602, 0xa170b33839263059, 0x953f48f1a09f76b5, 1, 0x8130003020063011, 1},
	/* s_or_b32 s4, s2, s6 */
	{0x87040602, 0xdead000100000000, 0xbeef000255555555, 1, 0x1111111155555555, 1},
	{0x87040602, 0xdead0001658cda14, 0xbeef00020cb1e29c, 1, 0x111111116dbdfa9c, 1},
	{0x87040602, 0xdead00017fffffff, 0xbeef000200000000, 1, 0x111111117fffffff, 1},
	{0x87040602, 0xdead0001dbc496cb, 0xbeef00022217bead, 0, 0x11111111fbd7beef, 1},
	/* s_or_b64 s[4:5], s[2:3], s[6:7] */
	{0x87840602, 0x2fffffffe, 0x1ffff3333, 1, 0x3ffffffff, 1},
	{0x87840602, 0x8f6d05584ef8aa38, 0xae97ba94d0eda82f, 0, 0xafffbfdcdefdaa3f, 1},
	{0x87840602, 0x5555555500000001, 0xaaaaaaaa55555555, 0, 0xffffffff55555555, 1},
	{0x87840602, 0x18f135d25f557203, 0xb64ce4228c38fb29, 0, 0xbefdf5f2df7dfb2b, 1},
	/* s_xor_b32 s4, s2, s6 */
	{0x88040602, 0xdead000155555555, 0xbeef000200000000, 1, 0x1111111155555555, 1},
	{0x88040602, 0xdead000134b9b5df, 0xbeef00027f150524, 1, 0x111111114bacb0fb, 1},
	{0x88040602, 0xdead0001ffff3333, 0xbeef0002fffffffe, 1, 0x111111110000cccd, 1},
	{0x88040602, 0xdead0001506bf2ef, 0xbeef00027731af10, 1, 0x11111111275a5dff, 1},
	/* s_xor_b64 s[4:5], s[2:3], s[6:7] */
	{0x88840602, 0xffffffff0000cccc, 0x7fffffff80000000, 1, 0x800000008000cccc, 1},
	{0x88840602, 0xb2f14c942e05319a, 0x3e7d1bfbc7a2ea20, 0, 0x8c8c576fe9a7dbba, 1},
	{0x88840602, 0x8000000055555555, 0xccccffff3333, 1, 0x8000ccccaaaa6666, 1},
	{0x88840602, 0xbabced2057ee05cd, 0x49b64a0872e6cc3a, 1, 0xf30aa7282508c9f7, 1},
	/* s_andn2_b32 s4, s2, s6 */
	{0x89040602, 0xdead000100000001, 0xbeef000200000001, 1, 0x1111111100000000, 0},
	{0x89040602, 0xdead00016b0a18e8, 0xbeef00022a3af4d4, 1, 0x1111111141000828, 1},
	{0x89040602, 0xdead0001ffffffff, 0xbeef000200000002, 1, 0x11111111fffffffd, 1},
	{0x89040602, 0xdead00017d2caf82, 0xbeef00026bf46c69, 0, 0x1111111114088382, 1},
	/* s_andn2_b64 s[4:5], s[2:3], s[6:7] */
	{0x89840602, 0x1aaaaaaaa, 0x55555555ffff3333, 1, 0x8888, 1},
	{0x89840602, 0xd17f9acae01f5057, 0x571242425051c1cc, 1, 0x806d9888a00e1013, 1},
	{0x89840602, 0x55555555ffffffff, 0x555555550000cccc, 1, 0xffff3333, 1},
	{0x89840602, 0x119a72d174c9df6a, 0x17f5e837d70820fe, 1, 0xa12c020c1df00, 1},
	/* s_orn2_b32 s4, s2, s6 */
	{0x8a040602, 0xdead000180000000, 0xbeef00020000cccc, 1, 0x11111111ffff3333, 1},
	{0x8a040602, 0xdead0001aa05e11a, 0xbeef000210a3d6b2, 0, 0x11111111ef5de95f, 1},
	{0x8a040602, 0xdead000100010000, 0xbeef000200010000, 0, 0x11111111ffffffff, 1},
	{0x8a040602, 0xdead0001a5aa3c81, 0xbeef000293f448b3, 1, 0x11111111edabbfcd, 1},
	/* s_orn2_b64 s[4:5], s[2:3], s[6:7] */
	{0x8a840602, 0xccccaaaaaaaa, 0x1000080000000, 0, 0xfffeffffffffffff, 1},
	{0x8a840602, 0xab2cd31ee3151288, 0x5c6af0758d5563d, 1, 0xfb3dd3fee73fbbca, 1},
	{0x8a840602, 0xffffffff0000cccc, 0x5555555500000002, 0, 0xfffffffffffffffd, 1},
	{0x8a840602, 0xf17a3007e62aa0a, 0xc4aaeac137dc76fb, 0, 0x3f57b73efe63ab0e, 1},
	/* s_nand_b32 s4, s2, s6 */
	{0x8b040602, 0xdead000100000002, 0xbeef000200010000, 0, 0x11111111ffffffff, 1},
	{0x8b040602, 0xdead000165dc9f50, 0xbeef00026415479c, 1, 0x111111119bebf8ef, 1},
	{0x8b040602, 0xdead00010000cccc, 0xbeef000200000001, 0, 0x11111111ffffffff, 1},
	{0x8b040602, 0xdead000172fdf202, 0xbeef000266d22876, 1, 0x111111119d2fdffd, 1},
	/* s_nand_b64 s[4:5], s[2:3], s[6:7] */
	{0x8b840602, 0x280000000, 0xffff3333fffffffe, 0, 0xfffffffd7fffffff, 1},
	{0x8b840602, 0x6a50df4db4d66a3a, 0x5bd86d40fc891b4a, 1, 0xb5afb2bf4b7ff5f5, 1},
	{0x8b840602, 0x7ffffffffffffffe, 0x100000002, 0, 0xfffffffefffffffd, 1},
	{0x8b840602, 0x3b61867626bb7dbd, 0x3bbbe9eaa8948c89, 0, 0xc4de7f9ddf6ff376, 1},
	/* s_nor_b32 s4, s2, s6 */
	{0x8c040602, 0xdead00010000cccc, 0xbeef000255555555, 0, 0x11111111aaaa2222, 1},
	{0x8c040602, 0xdead000143435cc5, 0xbeef0002482c9cbc, 0, 0x11111111b4902302, 1},
	{0x8c040602, 0xdead000100000002, 0xbeef0002fffffffe, 1, 0x1111111100000001, 1},
	{0x8c040602, 0xdead00015e8766ed, 0xbeef00029c1caaf7, 1, 0x1111111121601100, 1},
	/* s_nor_b64 s[4:5], s[2:3], s[6:7] */
	{0x8c840602, 0x2ffffffff, 0xffff333300010000, 1, 0xcccc00000000, 1},
	{0x8c840602, 0xa7abe1c29e1a8ef4, 0xbd628881ad1b72db, 0, 0x4014163c40e40100, 1},
	{0x8c840602, 0xaaaaaaaa0000cccc, 0xfffffffeffff3333, 0, 0x100000000, 1},
	{0x8c840602, 0x64e50cad66237a04, 0x7b45145c1a81682c, 1, 0x801ae302815c85d3, 1},
	/* s_xnor_b32 s4, s2, s6 */
	{0x8d040602, 0xdead0001fffffffe, 0xbeef000200000000, 0, 0x1111111100000001, 1},
	{0x8d040602, 0xdead0001113db17d, 0xbeef0002fc132d0d, 0, 0x1111111112d1638f, 1},
	{0x8d040602, 0xdead00010000cccc, 0xbeef000200000002, 0, 0x11111111ffff3331, 1},
	{0x8d040602, 0xdead0001570dc195, 0xbeef000299c94309, 0, 0x11111111313b7d63, 1},
	/* s_xnor_b64 s[4:5], s[2:3], s[6:7] */
	{0x8d840602, 0x1, 0x255555555, 1, 0xfffffffdaaaaaaab, 1},
	{0x8d840602, 0xf2ee4e4519f9919c, 0x9d1de2a05d158a2f, 0, 0x900c531abb13e44c, 1},
	{0x8d840602, 0x7fffffff00000001, 0xfffffffe55555555, 0, 0x7ffffffeaaaaaaab, 1},
	{0x8d840602, 0x4093f6dea268aa87, 0x58ee8571f4998d7c, 1, 0xe7828c50a90ed804, 1},
	/* s_add_u32 s4, s2, s6 */
	{0x80040602, 0xdead0001ffffffff, 0xbeef00020000cccc, 0, 0x111111110000cccb, 1},
	{0x80040602, 0xdead00011d87cec3, 0xbeef0002d953ee26, 0, 0x11111111f6dbbce9, 0},
	{0x80040602, 0xdead00010000cccc, 0xbeef00020000cccc, 0, 0x1111111100019998, 0},
	{0x80040602, 0xdead00014fd58dbe, 0xbeef000215fc899e, 0, 0x1111111165d2175c, 0},
	/* s_sub_u32 s4, s2, s6 */
	{0x80840602, 0xdead000100000001, 0xbeef000200010000, 0, 0x11111111ffff0001, 1},
	{0x80840602, 0xdead0001bd87a865, 0xbeef000243c71b9a, 0, 0x1111111179c08ccb, 0},
	{0x80840602, 0xdead000100010000, 0xbeef000200000002, 1, 0x111111110000fffe, 0},
	{0x80840602, 0xdead000105e999f3, 0xbeef00023488f876, 1, 0x11111111d160a17d, 1},
	/* s_add_i32 s4, s2, s6 */
	{0x81040602, 0xdead0001ffff3333, 0xbeef0002ffffffff, 0, 0x11111111ffff3332, 0},
	{0x81040602, 0xdead0001b0a844e5, 0xbeef00028b0d590b, 1, 0x111111113bb59df0, 1},
	{0x81040602, 0xdead000100000000, 0xbeef0002ffff3333, 0, 0x11111111ffff3333, 0},
	{0x81040602, 0xdead0001fa7f0eab, 0xbeef0002a49636a2, 1, 0x111111119f15454d, 0},
	/* s_sub_i32 s4, s2, s6 */
	{0x81840602, 0xdead000100000001, 0xbeef000200010000, 1, 0x11111111ffff0001, 0},
	{0x81840602, 0xdead000142d87208, 0xbeef000284b5a818, 0, 0x11111111be22c9f0, 1},
	{0x81840602, 0xdead000100000002, 0xbeef0002ffffffff, 1, 0x1111111100000003, 0},
	{0x81840602, 0xdead00013908f227, 0xbeef00028857f9a4, 1, 0x11111111b0b0f883, 1},
	/* s_addc_u32 s4, s2, s6 */
	{0x82040602, 0xdead0001ffff3333, 0xbeef0002ffffffff, 1, 0x11111111ffff3333, 1},
	{0x82040602, 0xdead000139194242, 0xbeef00029cfc8652, 1, 0x11111111d615c895, 0},
	{0x82040602, 0xdead00017fffffff, 0xbeef00027fffffff, 1, 0x11111111ffffffff, 0},
	{0x82040602, 0xdead000166934036, 0xbeef0002bd685167, 1, 0x1111111123fb919e, 1},
	/* s_subb_u32 s4, s2, s6 */
	{0x82840602, 0xdead00017fffffff, 0xbeef00027fffffff, 1, 0x11111111ffffffff, 1},
	{0x82840602, 0xdead00017e26f36a, 0xbeef00025b06258e, 1, 0x111111112320cddb, 0},
	{0x82840602, 0xdead000100000000, 0xbeef000200000000, 1, 0x11111111ffffffff, 1},
	{0x82840602, 0xdead00014787f93b, 0xbeef000278e4b98d, 0, 0x11111111cea33fae, 1},
	/* s_min_i32 s4, s2, s6 */
	{0x83040602, 0xdead00017fffffff, 0xbeef00027fffffff, 1, 0x111111117fffffff, 0},
	{0x83040602, 0xdead0001f4de2c08, 0xbeef00025822cb77, 0, 0x11111111f4de2c08, 1},
	{0x83040602, 0xdead000100010000, 0xbeef0002ffffffff, 1, 0x11111111ffffffff, 0},
	{0x83040602, 0xdead0001f979d04a, 0xbeef00025d58c705, 0, 0x11111111f979d04a, 1},
	/* s_min_u32 s4, s2, s6 */
	{0x83840602, 0xdead00017fffffff, 0xbeef00027fffffff, 0, 0x111111117fffffff, 0},
	{0x83840602, 0xdead000178572976, 0xbeef0002325b55dd, 0, 0x11111111325b55dd, 0},
	{0x83840602, 0xdead00017fffffff, 0xbeef00020000cccc, 1, 0x111111110000cccc, 0},
	{0x83840602, 0xdead0001fc394724, 0xbeef0002e67a9b75, 1, 0x11111111e67a9b75, 0},
	/* s_max_i32 s4, s2, s6 */
	{0x84040602, 0xdead000100000000, 0xbeef000200000000, 1, 0x1111111100000000, 1},
	{0x84040602, 0xdead0001a72991b9, 0xbeef00025810d60e, 1, 0x111111115810d60e, 0},
	{0x84040602, 0xdead0001aaaaaaaa, 0xbeef000200000001, 1, 0x1111111100000001, 0},
	{0x84040602, 0xdead0001a91c2439, 0xbeef00021eb20109, 1, 0x111111111eb20109, 0},
	/* s_max_u32 s4, s2, s6 */
	{0x84840602, 0xdead0001fffffffe, 0xbeef0002fffffffe, 1, 0x11111111fffffffe, 1},
	{0x84840602, 0xdead0001330698a1, 0xbeef00027a605a91, 1, 0x111111117a605a91, 0},
	{0x84840602, 0xdead000100000002, 0xbeef0002fffffffe, 1, 0x11111111fffffffe, 0},
	{0x84840602, 0xdead0001a2c68e45, 0xbeef0002551fd8f9, 0, 0x11111111a2c68e45, 1},
	/* s_cselect_b32 s4, s2, s6 */
	{0x85040602, 0xdead000100010000, 0xbeef0002fffffffe, 0, 0x11111111fffffffe, 0},
	{0x85040602, 0xdead000166c1494e, 0xbeef0002be4c5ce6, 1, 0x1111111166c1494e, 1},
	{0x85040602, 0xdead000100000001, 0xbeef000200010000, 0, 0x1111111100010000, 0},
	{0x85040602, 0xdead00012b855c1f, 0xbeef0002fe3c9c8f, 0, 0x11111111fe3c9c8f, 0},
	/* s_cselect_b64 s[4:5], s[2:3], s[6:7] */
	{0x85840602, 0x200000000, 0xcccc55555555, 1, 0x200000000, 1},
	{0x85840602, 0x256badf9a7e6529b, 0xd39630d69c9011ef, 1, 0x256badf9a7e6529b, 1},
	{0x85840602, 0xaaaaaaaa0000cccc, 0x2ffffffff, 1, 0xaaaaaaaa0000cccc, 1},
	{0x85840602, 0x2188287e8c5c715f, 0x3a56cc1057a40b2, 1, 0x2188287e8c5c715f, 1},
	/* s_lshl_b32 s4, s2, s6 */
	{0x8e040602, 0xdead000100010000, 0xbeef0002aaaaaaaa, 0, 0x1111111104000000, 1},
	{0x8e040602, 0xdead000186ce03f9, 0xbeef0002bfdefc15, 1, 0x111111117f200000, 1},
	{0x8e040602, 0xdead000100000002, 0xbeef0002fffffffe, 1, 0x1111111180000000, 1},
	{0x8e040602, 0xdead0001df2a8b79, 0xbeef000231dec4f4, 1, 0x11111111b7900000, 1},
	/* s_lshl_b64 s[4:5], s[2:3], s6 */
	{0x8e840602, 0x7fffffff, 0xbeef000280000000, 0, 0x7fffffff, 1},
	{0x8e840602, 0x804c25d64affdcd1, 0xbeef00023d93fd4c, 1, 0xc25d64affdcd1000, 1},
	{0x8e840602, 0xffffffff55555555, 0xbeef000280000000, 1, 0xffffffff55555555, 1},
	{0x8e840602, 0xd58dcdb46b446806, 0xbeef0002218e0b7b, 0, 0x3000000000000000, 1},
	/* s_lshr_b32 s4, s2, s6 */
	{0x8f040602, 0xdead000100010000, 0xbeef0002ffffffff, 1, 0x1111111100000000, 0},
	{0x8f040602, 0xdead0001754a09cd, 0xbeef0002a997f351, 1, 0x1111111100003aa5, 1},
	{0x8f040602, 0xdead0001ffff3333, 0xbeef0002fffffffe, 1, 0x1111111100000003, 1},
	{0x8f040602, 0xdead0001eaefc4d2, 0xbeef0002e0cfab4c, 1, 0x11111111000eaefc, 1},
	/* s_lshr_b64 s[4:5], s[2:3], s6 */
	{0x8f840602, 0xffff333300000002, 0xbeef000200000002, 1, 0x3fffccccc0000000, 1},
	{0x8f840602, 0x4c9d78d82b33599, 0xbeef0002df703017, 0, 0x993af1b05, 1},
	{0x8f840602, 0x5555555500000002, 0xbeef000200000000, 1, 0x5555555500000002, 1},
	{0x8f840602, 0x265974a7cc966f46, 0xbeef00022c1eea1f, 0, 0x4cb2e94f, 1},
	/* s_ashr_i32 s4, s2, s6 */
	{0x90040602, 0xdead00010000cccc, 0xbeef000255555555, 1, 0x1111111100000000, 0},
	{0x90040602, 0xdead00011ece615d, 0xbeef00028e752fdf, 0, 0x1111111100000000, 0},
	{0x90040602, 0xdead0001ffffffff, 0xbeef0002aaaaaaaa, 1, 0x11111111ffffffff, 1},
	{0x90040602, 0xdead000187ddaeb7, 0xbeef00028e317041, 0, 0x11111111c3eed75b, 1},
	/* s_ashr_i64 s[4:5], s[2:3], s6 */
	{0x90840602, 0xffff333300000001, 0xbeef000200000000, 0, 0xffff333300000001, 1},
	{0x90840602, 0x46e4099030f97058, 0xbeef00020acd8be1, 1, 0x237204c8, 1},
	{0x90840602, 0xffff333300000001, 0xbeef00020000cccc, 1, 0xfffffff333300000, 1},
	{0x90840602, 0xc28ee907072235c2, 0xbeef0002e4ddf9b9, 1, 0xffffffffffffffe1, 1},
	/* s_bfm_b32 s4, s2, s6 */
	{0x91040602, 0xdead000100000001, 0xbeef00020000cccc, 0, 0x1111111100001000, 0},
	{0x91040602, 0xdead00019ccea098, 0xbeef0002f92e2339, 1, 0x11111111fe000000, 1},
	{0x91040602, 0xdead000155555555, 0xbeef0002ffff3333, 0, 0x11111111fff80000, 0},
	{0x91040602, 0xdead0001b156d1ad, 0xbeef000246f5a1b4, 0, 0x11111111fff00000, 0},
	/* s_bfm_b64 s[4:5], s2, s6 */
	{0x91840602, 0xdead0001ffff3333, 0xbeef0002ffff3333, 1, 0xfff8000000000000, 1},
	{0x91840602, 0xdead00017a609683, 0xbeef000281fc069e, 1, 0x1c0000000, 1},
	{0x91840602, 0xdead00017fffffff, 0xbeef000200010000, 1, 0x7fffffffffffffff, 1},
	{0x91840602, 0xdead0001e064a114, 0xbeef0002e040015c, 1, 0xfffff0000000, 1},
	/* s_mul_i32 s4, s2, s6 */
	{0x92040602, 0xdead000180000000, 0xbeef0002ffff3333, 1, 0x1111111180000000, 1},
	{0x92040602, 0xdead0001f179f2d2, 0xbeef000233dcd77f, 1, 0x11111111b8e5d42e, 1},
	{0x92040602, 0xdead00010000cccc, 0xbeef000200000002, 0, 0x1111111100019998, 0},
	{0x92040602, 0xdead00011f229dd0, 0xbeef00026471fde4, 0, 0x11111111d99b1d40, 0},
	/* s_bfe_u32 s4, s2, s6 */
	{0x92840602, 0xdead0001ffffffff, 0xbeef000200080005, 0, 0x11111111000000ff, 1},
	{0x92840602, 0xdead00013672d6ae, 0xbeef00020040001f, 0, 0x1111111100000000, 0},
	{0x92840602, 0xdead000100000002, 0xbeef00020001001f, 0, 0x1111111100000000, 0},
	{0x92840602, 0xdead0001e2015522, 0xbeef00020001003f, 1, 0x1111111100000001, 1},
	/* s_bfe_i32 s4, s2, s6 */
	{0x93040602, 0xdead000100000001, 0xbeef00020001003f, 1, 0x1111111100000000, 0},
	{0x93040602, 0xdead0001aaf719f3, 0xbeef000200010005, 1, 0x11111111ffffffff, 1},
	{0x93040602, 0xdead0001fffffffe, 0xbeef00020007003f, 0, 0x11111111ffffffff, 1},
	{0x93040602, 0xdead0001321c5296, 0xbeef00020000001f, 1, 0x1111111100000000, 0},
	/* s_bfe_u64 s[4:5], s[2:3], s6 */
	{0x93840602, 0xffffffff, 0xbeef00020008003f, 1, 0x0, 0},
	{0x93840602, 0x626467ba04a10547, 0xbeef00020020001f, 1, 0xc4c8cf74, 1},
	{0x93840602, 0x100000001, 0xbeef000200000000, 0, 0x0, 0},
	{0x93840602, 0xa227385459c945c, 0xbeef000200070005, 1, 0x22, 1},
	/* s_bfe_i64 s[4:5], s[2:3], s6 */
	{0x94040602, 0xfffffffe00000002, 0xbeef00020008001f, 0, 0xfffffffffffffffc, 1},
	{0x94040602, 0xeb4ed2e3895e8b6b, 0xbeef00020028003f, 0, 0xffffffffffffffff, 1},
	{0x94040602, 0x8000000000000001, 0xbeef000200080005, 1, 0x0, 0},
	{0x94040602, 0x44d82a531289bafa, 0xbeef000200280000, 0, 0x531289bafa, 1},
	/* s_absdiff_i32 s4, s2, s6 */
	{0x95040602, 0xdead000100000002, 0xbeef000200000005, 1, 0x1111111100000003, 1},
	{0x95040602, 0xdead0001ffffffff, 0xbeef000200000000, 0, 0x1111111100000001, 1},
	{0x95040602, 0xdead000180000000, 0xbeef000200000000, 0, 0x1111111180000000, 1},
	{0x95040602, 0xdead000180000000, 0xbeef0002fffffffe, 1, 0x111111117ffffffe, 1},
	/* s_mul_hi_u32 s4, s2, s6 */
	{0x96040602, 0xdead0001ffff3333, 0xbeef0002fffffffe, 1, 0x11111111ffff3331, 1},
	{0x96040602, 0xdead0001ea59679a, 0xbeef0002449274d2, 1, 0x111111113ec5d172, 1},
	{0x96040602, 0xdead000100000002, 0xbeef000200000000, 1, 0x1111111100000000, 1},
	{0x96040602, 0xdead0001b5a432cf, 0xbeef00023d0a270b, 1, 0x111111112b4f5439, 1},
	/* s_mul_hi_i32 s4, s2, s6 */
	{0x96840602, 0xdead000100000001, 0xbeef000200000002, 0, 0x1111111100000000, 0},
	{0x96840602, 0xdead00010ce5af69, 0xbeef00022e5f950c, 0, 0x1111111102561643, 0},
	{0x96840602, 0xdead000180000000, 0xbeef0002aaaaaaaa, 0, 0x111111112aaaaaab, 0},
	{0x96840602, 0xdead000187f53ddd, 0xbeef0002c26e7a42, 0, 0x111111111cdecd10, 0},
	/* s_lshl1_add_u32 s4, s2, s6 */
	{0x97040602, 0xdead000180000000, 0xbeef00020000cccc, 1, 0x111111110000cccc, 1},
	{0x97040602, 0xdead0001ac127e93, 0xbeef00022d8ad8c0, 0, 0x1111111185afd5e6, 1},
	{0x97040602, 0xdead0001ffffffff, 0xbeef000200000000, 1, 0x11111111fffffffe, 1},
	{0x97040602, 0xdead0001401d68fb, 0xbeef000209758340, 0, 0x1111111189b05536, 0},
	/* s_lshl2_add_u32 s4, s2, s6 */
	{0x97840602, 0xdead000100000000, 0xbeef000200010000, 1, 0x1111111100010000, 0},
	{0x97840602, 0xdead00018d118e37, 0xbeef0002fa619774, 0, 0x111111112ea7d050, 1},
	{0x97840602, 0xdead0001ffff3333, 0xbeef00020000cccc, 0, 0x11111111fffd9998, 1},
	{0x97840602, 0xdead0001ef44c0d5, 0xbeef000272723b9c, 0, 0x111111112f853ef0, 1},
	/* s_lshl3_add_u32 s4, s2, s6 */
	{0x98040602, 0xdead0001aaaaaaaa, 0xbeef0002aaaaaaaa, 0, 0x11111111fffffffa, 1},
	{0x98040602, 0xdead0001a81100a1, 0xbeef00027eb86c57, 1, 0x11111111bf40715f, 1},
	{0x98040602, 0xdead0001fffffffe, 0xbeef0002ffff3333, 0, 0x11111111ffff3323, 1},
	{0x98040602, 0xdead0001b00fd7bb, 0xbeef000237161c16, 1, 0x11111111b794d9ee, 1},
	/* s_lshl4_add_u32 s4, s2, s6 */
	{0x98840602, 0xdead00017fffffff, 0xbeef0002ffffffff, 0, 0x11111111ffffffef, 1},
	{0x98840602, 0xdead0001d510bb04, 0xbeef0002e1c60aa3, 1, 0x1111111132d1bae3, 1},
	{0x98840602, 0xdead000100010000, 0xbeef0002aaaaaaaa, 0, 0x11111111aabaaaaa, 0},
	{0x98840602, 0xdead0001679a44dd, 0xbeef0002fd4bd030, 0, 0x1111111176f01e00, 1},
	/* s_pack_ll_b32_b16 s4, s2, s6 */
	{0x99040602, 0xdead000100000000, 0xbeef000200000002, 0, 0x1111111100020000, 0},
	{0x99040602, 0xdead0001121ae3e6, 0xbeef0002a01d616f, 1, 0x11111111616fe3e6, 1},
	{0x99040602, 0xdead000180000000, 0xbeef0002fffffffe, 0, 0x11111111fffe0000, 0},
	{0x99040602, 0xdead00010e2ec40a, 0xbeef000215a0cce6, 1, 0x11111111cce6c40a, 1},
	/* s_pack_lh_b32_b16 s4, s2, s6 */
	{0x99840602, 0xdead0001fffffffe, 0xbeef0002ffff3333, 1, 0x11111111fffffffe, 1},
	{0x99840602, 0xdead0001f88ede10, 0xbeef0002482cc78e, 1, 0x11111111482cde10, 1},
	{0x99840602, 0xdead00017fffffff, 0xbeef000200010000, 0, 0x111111110001ffff, 0},
	{0x99840602, 0xdead00010b94af3a, 0xbeef0002759eb559, 0, 0x11111111759eaf3a, 0},
	/* s_pack_hh_b32_b16 s4, s2, s6 */
	{0x9a040602, 0xdead000100000002, 0xbeef000280000000, 0, 0x1111111180000000, 0},
	{0x9a040602, 0xdead000100ed6b02, 0xbeef00024363e5d9, 0, 0x11111111436300ed, 0},
	{0x9a040602, 0xdead0001ffffffff, 0xbeef0002ffff3333, 0, 0x11111111ffffffff, 0},
	{0x9a040602, 0xdead00013e940bb4, 0xbeef000208d18011, 1, 0x1111111108d13e94, 1},
	/* clang-format on */
};

static void operations_have_the_results_of_the_manual(void **state)
{
	struct machine *m = *state;

	for (size_t i = 0; i < GP_ARRAY_SIZE(cases); i++) {
		gp_isa_set_pair(m->wave, 2, cases[i].a);
		gp_isa_set_pair(m->wave, 6, cases[i].b);
		gp_isa_set_pair(m->wave, 4, RESULT_BEFORE);
		m->wave->scc = cases[i].scc;
		RUN(m, cases[i].word);
		if (gp_isa_pair(m->wave, 4) != cases[i].result ||
		    m->wave->scc != cases[i].scc_after)
			fail_msg("case %zu: %08x: %llx, scc %d", i, cases[i].word,
				 (unsigned long long)gp_isa_pair(m->wave, 4), m->wave->scc);
	}
}

static void result_may_be_an_operand(void **state)
{
	struct machine *m = *state;

	gp_isa_set_pair(m->wave, 2, 0xffff0000ffff0000);
	RUN(m, 0x8f82c402, /* s_lshr_b64 s[2:3], s[2:3], -4 */
	    0x8e020481);   /* s_lshl_b32 s2, 1, s4 */
	assert_int_equal(m->wave->s[3], 0);
	m->wave->s[2] = 5;
	RUN(m, 0x80020202); /* s_add_u32 s2, s2, s2 */
	assert_int_equal(m->wave->s[2], 10);
}

static void literal_and_constants_are_operands(void **state)
{
	struct machine *m = *state;

	m->wave->s[2] = 1;
	RUN(m, 0x8004ff02, 0x12345678); /* s_add_u32 s4, s2, 0x12345678 */
	assert_int_equal(m->wave->s[4], 0x12345679);
	RUN(m, 0x800402c1); /* s_add_u32 s4, -1, s2 */
	assert_int_equal(m->wave->s[4], 0);
	assert_true(m->wave->scc);
}

static void forks_are_refused_by_name(void **state)
{
	struct machine *m = *state;
	char name[GP_ISA_NAME];

	assert_int_equal(STOP(m, 0x94800204), GP_ISA_REFUSED); /* s_cbranch_g_fork s[4:5], s[2:3] */
	gp_isa_describe(&m->runner, m->wave, name);
	assert_string_equal(name, "s_cbranch_g_fork");
	assert_int_equal(m->wave->pc, MACHINE_CODE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(operations_have_the_results_of_the_manual,
						machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(result_may_be_an_operand, machine_gfx942,
						machine_down),
		cmocka_unit_test_setup_teardown(literal_and_constants_are_operands, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(forks_are_refused_by_name, machine_gfx90a,
						machine_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
