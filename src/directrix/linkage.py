"""Compile a kernel so that it runs the same machine code in every process."""

from __future__ import annotations

from typing import Any

from numba.core import codegen, compiler


class _Library(codegen.JITCodeLibrary):
    """Compiled code of one kernel that calls its own copies of other kernels.

    Numba makes these copies weak symbols. The linker then prefers another symbol of the same name, which was
    optimized for another caller and computes other last bits, if the process has compiled or loaded one.
    """

    def _finalize_final_module(self) -> None:
        self._shared_module = self._final_module.clone()  # for the kernels that call this one, as in Numba
        for shared, own in zip(self._shared_module.functions, self._final_module.functions, strict=True):
            if own.linkage.name == "external" and not own.is_declaration:
                shared.linkage = "linkonce_odr"
            elif own.linkage.name == "linkonce_odr":
                own.linkage = "internal"
        super()._finalize_final_module()  # type: ignore[no-untyped-call]


class Compiler(compiler.Compiler):
    """Numba's compiler, for kernels; see docs/decisions/kernels.md."""

    def define_pipelines(self) -> Any:
        """Return Numba's passes, which fill the library that is made here."""
        state = self.state
        state.library = _Library(state.targetctx.codegen(), state.func_id.func_qualname)  # type: ignore[no-untyped-call]
        state.library.enable_object_caching()
        return super().define_pipelines()  # type: ignore[no-untyped-call]
