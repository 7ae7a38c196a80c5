"""Tiles of matrix products: a few rows by one vector of columns, whose sums stay in registers.

LLVM makes vectors of a loop, but keeps no block of sums in registers: written as loops, a product loads and
stores a sum for every multiplication. These instructions say what to keep. A vector has 64 bytes on every
processor, and each sum adds its terms one by one: neither the processor nor the tile decides the bits.
"""

from llvmlite import binding, ir
from numba.core import cgutils, types
from numba.extending import intrinsic

_BYTES = 64  # one register with AVX-512, two with AVX2, four with NEON
ROWS = 8 if binding.get_host_cpu_features().get("avx512f", False) else 4
"""Rows of a large tile: as many sums as fit into the registers."""

_INT = types.intp


def _spread(builder, value, vector):
    """The number in every lane."""
    nothing, first = ir.Constant(vector, ir.Undefined), ir.Constant(ir.IntType(32), 0)
    every = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), None)
    return builder.shuffle_vector(builder.insert_element(nothing, value, first), nothing, every)


class _Place:
    """Numbers of an array from position ``at`` on."""

    def __init__(self, context, builder, kind, array, at):
        self._builder, self._bytes = builder, context.get_abi_sizeof(context.get_data_type(kind.dtype))
        self._start = builder.gep(context.make_array(kind)(context, builder, array).data, [at])
        self.number = self._start.type.pointee
        self.lanes = _BYTES // self._bytes

    def after(self, steps):
        return self._builder.gep(self._start, [steps])

    def row(self, r, stride):
        """Pointer to the vector r rows further."""
        steps = self._builder.mul(ir.Constant(stride.type, r), stride)
        return self._builder.bitcast(self.after(steps), ir.VectorType(self.number, self.lanes).as_pointer())

    def load(self, pointer):
        return self._builder.load(pointer, align=self._bytes)

    def store(self, value, pointer):
        self._builder.store(value, pointer, align=self._bytes)


def _sums(builder, rows, a, b, bounds):
    """Vectors sum_j a[r a_row + j a_col] b[j b_row + lane] of the rows r, for j < depth."""
    a_row, a_col, b_row, depth = bounds
    vector = ir.VectorType(b.number, b.lanes)
    name = f"llvm.fmuladd.v{b.lanes}f{8 * _BYTES // b.lanes}"
    fused = cgutils.get_or_insert_function(builder.module, ir.FunctionType(vector, [vector] * 3), name)
    zero, start, one = ir.Constant(vector, None), ir.Constant(depth.type, 0), ir.Constant(depth.type, 1)
    before, loop, after = builder.block, *(builder.append_basic_block(name) for name in ("sum", "summed"))
    builder.cbranch(builder.icmp_signed(">", depth, start), loop, after)
    builder.position_at_end(loop)
    j, *sums = (builder.phi(kind) for kind in [depth.type] + rows * [vector])
    column = b.load(builder.bitcast(b.after(builder.mul(j, b_row)), vector.as_pointer()))
    shift = builder.mul(j, a_col)
    larger = []
    for r, total in enumerate(sums):
        number = builder.load(a.after(builder.add(shift, builder.mul(ir.Constant(a_row.type, r), a_row))))
        larger.append(builder.call(fused, [_spread(builder, number, vector), column, total]))
    following = builder.add(j, one)
    builder.cbranch(builder.icmp_signed("<", following, depth), loop, after)
    builder.position_at_end(after)
    ends = []
    for phi, first, value in zip([j, *sums], [start] + rows * [zero], [following, *larger], strict=True):
        phi.add_incoming(first, before)
        phi.add_incoming(value, loop)
    for value in larger:
        end = builder.phi(vector)
        end.add_incoming(zero, before)
        end.add_incoming(value, loop)
        ends.append(end)
    return ends


@intrinsic
def prefetch(typing_context, array, at):
    """Ask for the cache line of a number, which need not exist."""

    def codegen(context, builder, signature, given):
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        start = builder.gep(context.make_array(array)(context, builder, given[0]).data, [given[1]])
        to_read, into_all_caches, of_data = (ir.Constant(word, i) for i in (0, 3, 1))
        ask = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(ask, [builder.bitcast(start, byte), to_read, into_all_caches, of_data])
        return context.get_dummy_value()

    return types.void(array, _INT), codegen


def _product_tile(rows):
    @intrinsic
    def tile(typing_context, a, a_at, a_row, a_col, b, b_at, b_row, depth, first, first_at, first_row, low, c, c_at, c_row):  # fmt: skip  # noqa: E501
        """C[c_at + r c_row + lane] = max(low, first[first_at + r first_row + lane] + sum); see `_sums`."""
        kinds = a, _INT, _INT, _INT, b, _INT, _INT, _INT, first, _INT, _INT, c.dtype, c, _INT, _INT

        def codegen(context, builder, signature, given):
            place = [_Place(context, builder, kinds[i], given[i], given[i + 1]) for i in (0, 4, 8, 12)]
            sums = _sums(builder, rows, *place[:2], (given[2], given[3], given[6], given[7]))
            begin, out = place[2:]
            low = _spread(builder, given[11], sums[0].type)
            for r, total in enumerate(sums):
                z = builder.fadd(begin.load(begin.row(r, given[10])), total)
                z = builder.select(builder.fcmp_ordered("<", z, low), low, z)  # NaN stays
                out.store(z, out.row(r, given[14]))
            return context.get_dummy_value()

        return types.void(*kinds), codegen

    return tile


def _add_tile(rows):
    @intrinsic
    def tile(typing_context, a, a_at, a_row, a_col, b, b_at, b_row, depth, c, c_at, c_row):
        """C[c_at + r c_row + lane], float64, += the sum; see `_sums`."""
        kinds = a, _INT, _INT, _INT, b, _INT, _INT, _INT, c, _INT, _INT

        def codegen(context, builder, signature, given):
            a, b, out = (_Place(context, builder, kinds[i], given[i], given[i + 1]) for i in (0, 4, 8))
            sums = _sums(builder, rows, a, b, (given[2], given[3], given[6], given[7]))
            wide = ir.VectorType(out.number, b.lanes)
            for r, total in enumerate(sums):
                pointer = builder.bitcast(out.row(r, given[10]), wide.as_pointer())
                exact = total if b.number == out.number else builder.fpext(total, wide)
                out.store(builder.fadd(out.load(pointer), exact), pointer)
            return context.get_dummy_value()

        return types.void(*kinds), codegen

    return tile


product_tile, product_row = _product_tile(ROWS), _product_tile(1)
add_tile, add_four, add_row = _add_tile(ROWS), _add_tile(4), _add_tile(1)
