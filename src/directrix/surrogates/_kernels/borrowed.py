"""Arrays whose references are not counted, for kernels that are called once per query.

A compiled function counts a reference to every array that it takes or slices, with two atomic instructions:
for a query of five documents that is more than half of the work. `borrowed` gives the same arrays without
their owners, so that there is nothing to count. The caller of `borrowed` must keep the owners alive until
the last use: arguments of a kernel live on in its caller; arrays that the kernel made are held by `keep`.
"""

from numba.core import cgutils, types
from numba.extending import intrinsic

from directrix.kernels import kernel


def _without_owner(context, builder, kind, value):
    if isinstance(kind, types.BaseTuple):
        for i, part in enumerate(kind):
            same = _without_owner(context, builder, part, builder.extract_value(value, i))
            value = builder.insert_value(value, same, i)
        return value
    if not isinstance(kind, types.Array):
        return value
    array = context.make_array(kind)(context, builder, value)
    array.meminfo = cgutils.get_null_value(array.meminfo.type)
    array.parent = cgutils.get_null_value(array.parent.type)
    return array._getvalue()


@intrinsic  # type: ignore[untyped-decorator]
def borrowed(typing_context, arrays):
    """The same array, or tuple of arrays and others, without owners."""

    def codegen(context, builder, signature, arguments):
        return _without_owner(context, builder, arrays, arguments[0])

    return arrays(arrays), codegen


@kernel
def keep(arrays):
    """Keep arrays that were borrowed alive until this call."""
    return len(arrays)
