"""Follow a Python program statement by statement with what is known of its values, executing nothing of it.

Numbers become C++ over the program's variables, so that the reader of C++ host code finds the sizes in them.
Texts are built as the program builds them. What is not understood is `Unknown`, with all that depends on it.
Of a condition that is not decided, both branches are followed. The program is read as if its user passed no
arguments, and functions that it never calls are followed last, with unknown arguments.
"""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Callable, Sequence
from dataclasses import replace

from cudamm.source.host_values import (
    FOR_USER,
    NOTHING,
    Class,
    Frame,
    Function,
    HostArray,
    Instance,
    Kernel,
    Library,
    Module,
    NamedFile,
    Unknown,
    Value,
    Variables,
    chosen,
    combined,
    common_dtype,
    constant,
    dtype_of,
    rounded_up,
    truth,
)
from cudamm.source.python_launch import Launch, launch_of
from cudamm.source.python_library import (
    MODULES,
    MOST_ELEMENTS,
    NAMELESS,
    Call,
    element,
    is_zero,
    library_value,
    method_value,
    module_of,
    part_of_rows,
    path_attribute,
    transposed,
    whole_extents,
)
from cudamm.source.python_text import (
    LONGEST_TEXT,
    HostNumber,
    KernelText,
    braced,
    filled,
    is_certainly_python_3,
    lines_of_literal,
    plain,
)

MOST_DEPTH = 70
"""Nesting of expressions, and of functions that call others, that is followed."""

MOST_STEPS = 50_000
"""Number of statements and parts of expressions that are followed."""

MOST_REPEATED = 256
"""Number of elements of a tuple that is repeated, as in `(TILE,) * 7`."""

LONGEST_EXPRESSION = 400
"""Number of characters of C++ for a number."""

MOST_LAUNCHES = 2
"""Number of launches by one call, with other values each, that are kept."""

_SAME_MODULE = ("cuda", "cpu", "to", "eval", "train", "float", "half", "double")
"""Methods of a module of PyTorch that return the module itself."""

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


class Interpreter:
    """Follows one program.

    Args:
        program: the program's text.
        name: of the program's file, without its folder.
        read: returns the text of a file that the program names, or raises UsageError.
        is_python_2: whether `/` of whole numbers is rounded down.
    """

    def __init__(
        self, program: str, name: str, read: Callable[[str, ast.AST], KernelText], is_python_2: bool
    ) -> None:
        self.variables = Variables()
        self.modules: list[Module] = []
        self.texts: list[
            Module
        ] = []  # the texts with kernels that the program gives to variables and functions
        self.launches: dict[tuple[ast.Call, str, str], list[Launch]] = {}  # the first of each call
        self.calls: list[Call] = []  # of libraries
        self.extension_calls: list[Call] = []  # of C++ functions that PyTorch compiles with a kernel
        self.products: list[tuple[Value, Value]] = []  # the factors of the program's own products
        self.decorated: list[tuple[FunctionNode, str]] = []  # functions, with the names of their decorators
        self._lines, self._name, self._read = program.split("\n"), name, read
        self._is_python_2 = is_python_2
        self._is_python_3 = False  # whether that is certain
        self.frames = [Frame()]
        self._instances: list[Instance] = []
        self._functions: list[tuple[Function, Class | None]] = []  # with the classes of methods
        self._entered: set[ast.AST] = set()
        self._options: dict[str, Value] = {}  # of the command line, with their default values
        self._depth = self._steps = 0

    def run(self, tree: ast.Module) -> None:
        """Follow the program, then the functions that it does not call."""
        self._is_python_3 = not self._is_python_2 and is_certainly_python_3(tree)
        self._block(tree.body)
        for needs_nothing in (True, False):  # functions such as `main()` know what they pass to others
            for function, of in self._functions:  # which following them extends
                needed = of or any(default is None for _, default in function.parameters)
                if function.node in self._entered or (needs_nothing and needed):
                    continue
                made = (each for each in self._instances if each.of is of)
                owner = (next(made, None) or self._instance(of, None)) if of else None
                self._run(replace(function, owner=owner), None)

    @property
    def _frame(self) -> Frame:
        return self.frames[-1]

    # Statements

    def _block(self, nodes: Sequence[ast.AST]) -> bool:
        """Follow statements, and return whether they end the function or the program."""
        return any(self._statement(node) for node in nodes)

    def _statement(self, node: ast.AST) -> bool:
        self._steps += 1
        if self._steps > MOST_STEPS:
            return True
        match node:
            case ast.Expr(value=value):
                return self.value(value) == Library("sys.exit()")
            case ast.Assign(targets=targets, value=value):
                found = self.value(value)
                for target in targets:
                    self._assign(target, found)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign(target, self.value(value))
            case ast.AugAssign(target=target, op=sign, value=value):
                self._assign(target, self.value(ast.BinOp(target, sign, value)))
            case ast.If(test=test, body=body, orelse=orelse):
                return self._if(test, body, orelse)
            case ast.For() | ast.AsyncFor() | ast.While():
                return self._loop(node)
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                for item in items:
                    opened = self.value(item.context_expr)
                    if item.optional_vars:
                        self._assign(item.optional_vars, opened)
                return self._block(body)
            case ast.Try(body=body, orelse=orelse, finalbody=last):
                return self._block([*body, *orelse, *last])
            case ast.Match(cases=cases):
                return self._either(Unknown(), [case.body for case in cases])
            case ast.Return(value=value):
                self._frame.returned.append(self.value(value) if value else NOTHING)
                return True
            case ast.Raise() | ast.Break() | ast.Continue():
                return isinstance(node, ast.Raise)
            case ast.Assert(test=test):
                self._condition("assert({});", self.value(test))
            case ast.Global(names=names):
                self._frame.of_module.update(names)
            case ast.Import(names=names):
                for each in names:
                    path = each.name if each.asname else each.name.partition(".")[0]
                    self._frame.bind(each.asname or path, Library(path))
            case ast.ImportFrom(module=module, names=names):
                for each in names:
                    self._frame.bind(each.asname or each.name, Library(f"{module}.{each.name}"))
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._define(node, None)
            case ast.ClassDef():
                self._define_class(node)
        return False

    def _define(self, node: FunctionNode, of: Class | None) -> None:
        function = Function(node, self._frame if of is None else of.frame)
        for decorator in node.decorator_list:
            called = self.value(decorator.func if isinstance(decorator, ast.Call) else decorator)
            self.decorated.append((node, called.path if isinstance(called, Library) else ""))
        self._functions.append((function, of))
        self._frame.bind(node.name, function)

    def _define_class(self, node: ast.ClassDef) -> None:
        of = Class({}, self._frame, tuple(self.value(base) for base in node.bases))
        self.frames.append(Frame(of.names, self._frame))
        for each in node.body:
            if isinstance(each, FunctionNode):
                self._define(each, of)
            else:
                self._statement(each)
        self.frames.pop()
        self._frame.bind(node.name, of)

    def _assign(self, target: ast.expr, value: Value) -> None:
        self._note(value, target)
        match target:
            case ast.Name(id=name):
                self._frame.bind(name, self.variables.named(name, value), target.lineno)
            case ast.Attribute(value=owner, attr=name):
                of = self.value(owner)
                if isinstance(of, Instance | Class):
                    of.names[name] = self.variables.named(name, value)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                for number, each in enumerate(targets):
                    is_known = isinstance(value, tuple) and len(value) == len(targets)
                    part = element(value, constant(number)) if is_known else None
                    self._assign(each, Unknown(node=each) if part is None else part)
            case ast.Subscript(value=owner, slice=key):
                changed, place = self.value(owner), self.value(key)
                if isinstance(changed, dict) and isinstance(place, KernelText):
                    self._assign(owner, changed | {str(place): value})

    def _note(self, value: Value, node: ast.expr) -> None:
        """Note a text with kernels."""
        if isinstance(value, KernelText) and "__global__" in str(value):
            self.texts.append(Module(node.lineno, value))

    def _if(self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt]) -> bool:
        value = self.value(test)
        holds = truth(value)
        if holds is not None:
            return self._block(body if holds else orelse)
        if any(isinstance(each, ast.Raise) for each in body):
            self._condition("if ({}) exit(1);", value)
        return self._either(value, [body, orelse])

    def _condition(self, form: str, value: Value) -> None:
        """Note what the program asserts of its numbers."""
        if isinstance(value, HostNumber) and "%" in value.text:
            self._frame.conditions.append(form.format(value.text))

    def _either(self, test: Value, blocks: Sequence[Sequence[ast.AST]]) -> bool:
        """Follow each of several blocks, one of which the program executes."""
        spaces = [*(frame.names for frame in self.frames), *(each.names for each in self._instances)]
        before = [dict(names) for names in spaces]
        outcomes: list[list[dict[str, Value]]] = []
        for block in blocks:
            if not self._block(block):
                outcomes.append([dict(names) for names in spaces])
            for names, old in zip(spaces, before, strict=True):
                names.clear()
                names.update(old)
        for place, names in enumerate(spaces):
            after = [outcome[place] for outcome in outcomes]
            for name in dict.fromkeys(name for each in after for name in each):
                values = [each[name] for each in after if name in each]
                merged: Value | None = values[0]
                for value in values[1:]:
                    merged = None if merged is None else chosen(test, merged, value)
                is_old = any(merged is value for value in values)
                names[name] = merged if is_old else self.variables.named(name, merged or Unknown())
        return not outcomes

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While) -> bool:
        elements = None if isinstance(node, ast.While) else self._elements(node.iter)
        if elements is None:  # the number of rounds is not known, nor what each of them adds to
            for each in ast.walk(node):
                if isinstance(each, ast.AugAssign):
                    self._assign(each.target, Unknown(node=each))
                elif isinstance(each, ast.Assign) and isinstance(each.value, ast.BinOp):
                    self._assign(each.targets[0], Unknown(node=each))
            elements = [Unknown(node=node)]
        for value in elements:
            if not isinstance(node, ast.While):
                self._assign(node.target, value)
            if self._block(node.body):
                return True
        return self._block(node.orelse)

    def _elements(self, node: ast.expr) -> list[Value] | None:
        """Return what a loop goes through; None if that is not known, or long."""
        value = self.value(node)
        if isinstance(value, dict):
            return [plain(name) for name in value]
        return list(value) if isinstance(value, tuple) and len(value) <= MOST_ELEMENTS else None

    # Expressions

    def value(self, node: ast.expr) -> Value:
        """Return what an expression stands for."""
        self._steps += 1
        if self._depth >= MOST_DEPTH or self._steps > MOST_STEPS:
            return Unknown(node=node)
        self._depth += 1
        try:
            value = self._expression(node)
        finally:
            self._depth -= 1
        size = (
            len(value.text)
            if isinstance(value, HostNumber)
            else len(value)
            if isinstance(value, tuple)
            else 0
        )
        is_long = isinstance(value, KernelText) and len(value.marked) > LONGEST_TEXT
        return Unknown(node=node) if value is None or size > LONGEST_EXPRESSION or is_long else value

    def _number(self, node: ast.expr) -> HostNumber | None:
        return self.variables.number(self.value(node))

    def _expression(self, node: ast.expr) -> Value | None:
        match node:
            case ast.Constant(value=None):
                return NOTHING
            case ast.Constant(value=int() | float() as number):
                return constant(number)
            case ast.Constant(value=str() | bytes() as literal):
                text = literal if isinstance(literal, str) else literal.decode("utf-8", "replace")
                return plain(text, lines_of_literal(node, self._lines))
            case ast.Name(id="__file__"):
                return NamedFile(self._name)
            case ast.Name(id="__name__"):
                return plain("__main__")
            case ast.Name(id=name):
                found = self._frame.find(name)
                return Library(name) if found is None else found
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return self._several(elements)
            case ast.Dict(keys=keys, values=values):
                named = [(str(self.value(key)) if key else "", self.value(value))
                         for key, value in zip(keys, values, strict=True)]  # fmt: skip
                return dict(named)
            case ast.GeneratorExp() | ast.ListComp():
                return self._comprehension(node)
            case ast.JoinedStr(values=parts):
                return self._interpolated(node, parts)
            case ast.BinOp(left=left, op=sign, right=right):
                return self._binary(self.value(left), sign, self.value(right))
            case ast.UnaryOp():
                return self._unary(node)
            case ast.Compare(left=left, ops=[sign], comparators=[right]):
                return self._compared(self.value(left), sign, self.value(right))
            case ast.BoolOp():
                return self._joint(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                condition = self.value(test)
                holds = truth(condition)
                if holds is not None:
                    return self.value(body if holds else orelse)
                return chosen(condition, self.value(body), self.value(orelse))
            case ast.Attribute(value=owner, attr=name):
                return self._attribute(self.value(owner), name, node)
            case ast.Subscript(value=owner, slice=ast.Slice(lower=None, upper=ast.expr() as end, step=None)):
                whole, place = self.value(owner), getattr(self._number(end), "value", None)
                if isinstance(whole, NamedFile) and isinstance(place, int):  # `__file__[:-3]`
                    return NamedFile(whole.path[:place])
                if isinstance(whole, tuple) and isinstance(place, int):
                    return whole[:place]
            case ast.Subscript(value=owner, slice=ast.Slice(lower=first, upper=None, step=step)) if (
                isinstance(whole := self.value(owner), tuple)
            ):
                begin = getattr(self._number(first), "value", None) if first else 0
                every = getattr(self._number(step), "value", None) if step else 1
                if isinstance(begin, int) and isinstance(every, int) and every:
                    return whole[begin if first else None :: every]  # `block[::-1]`
            case ast.Subscript(value=owner, slice=ast.Tuple(elts=[_, key])):  # a part of each row
                whole = self.value(owner)
                is_part = isinstance(key, ast.Slice) and (key.lower or key.upper or key.step)
                if is_part and isinstance(whole, HostArray):
                    return part_of_rows(whole, ast.unparse(node))
                return self._subscript(whole, self.value(node.slice))
            case ast.Subscript(value=owner, slice=key):
                return self._subscript(self.value(owner), self.value(key))
            case ast.Call():
                return self._call(node)
            case ast.Lambda():
                function = Function(node, self._frame)
                self._functions.append((function, None))
                return function
            case ast.NamedExpr(target=target, value=inner):
                value = self.value(inner)
                self._assign(target, value)
                return value
        return None

    def _several(self, nodes: Sequence[ast.expr]) -> tuple[Value, ...] | None:
        """Return the values of expressions, of which `*args` may be several; None if these are not known."""
        found: list[Value] = []
        for node in nodes:
            value = self.value(node.value if isinstance(node, ast.Starred) else node)
            if isinstance(node, ast.Starred) and not isinstance(value, tuple):
                return None
            found += value if isinstance(node, ast.Starred) and isinstance(value, tuple) else [value]
        return tuple(found)

    def _comprehension(self, node: ast.GeneratorExp | ast.ListComp) -> Value | None:
        if len(node.generators) != 1 or node.generators[0].ifs:
            return None
        counted, elements = self.value(node.generators[0].iter), self._elements(node.generators[0].iter)
        found: list[Value] = []
        for value in [Unknown(node=node)] if elements is None else elements:
            self._assign(node.generators[0].target, value)
            found.append(self.value(node.elt))
        if elements is None and isinstance(counted, HostArray):  # `[0.0 for i in range(n * n)]`
            row = found[0].shape if isinstance(found[0], HostArray) else ()
            return HostArray((*(counted.shape or ()), *(row or ())), is_zero=is_zero(found[0]))
        return None if elements is None else tuple(found)

    def _interpolated(self, node: ast.JoinedStr, parts: Sequence[ast.expr]) -> KernelText | NamedFile | None:
        lines, text = lines_of_literal(node, self._lines), ""
        folder = self.value(parts[0].value) if parts and isinstance(parts[0], ast.FormattedValue) else None
        if isinstance(folder, NamedFile):  # `f"{folder}/kernel.cu"`
            name = self._interpolated(node, parts[1:])
            return NamedFile(f"{folder.path}{name}") if isinstance(name, KernelText) else None
        for part in parts:
            if len(text) > LONGEST_TEXT:
                return None
            if isinstance(part, ast.FormattedValue):
                specification = ast.unparse(part.format_spec)[2:-1] if part.format_spec else ""
                try:
                    text += braced(self.value(part.value), specification)
                except (ValueError, TypeError, OverflowError):
                    return None
            elif isinstance(part, ast.Constant):
                text += plain(str(part.value), lines).marked
                lines = lines[str(part.value).count("\n") :] or lines[-1:]
        return KernelText(text)

    def _binary(self, left: Value, sign: ast.operator, right: Value) -> Value | None:
        match left, sign, right:
            case KernelText(), ast.Mod(), _:
                values = right if isinstance(right, tuple) else (right,)
                named = right if isinstance(right, dict) else {str(n): each for n, each in enumerate(values)}
                return filled(left, "%", named)
            case KernelText(), ast.Add(), KernelText():
                return KernelText(left.marked + right.marked)
            case NamedFile(path=path), ast.Div(), KernelText():
                return NamedFile(posixpath.join(path, str(right).lstrip("/")))
            case NamedFile(path=path), ast.Add(), KernelText():
                return NamedFile(f"{path}{right}")
            case NamedFile(path=path), ast.Div(), NamedFile():
                return NamedFile(posixpath.join(path, right.path))
            case tuple(), ast.Add(), tuple():
                return (*left, *right)
            case (tuple() as several, ast.Mult(), HostNumber(value=int() as times)) | (
                HostNumber(value=int() as times),
                ast.Mult(),
                tuple() as several,
            ):
                return several * times if len(several) * times <= MOST_REPEATED else None
            case HostArray(), ast.MatMult(), _:
                self.products.append((left, right))
                return HostArray()
            case (HostArray() as array, _, other) | (other, _, HostArray() as array):
                both = other if isinstance(other, HostArray) else array
                made = replace(array, is_zero=False, name="", dtype=common_dtype(array, other), view="")
                made.made_by = array.made_by if array.made_by == both.made_by else ""
                made.is_transposed, made.elements = False, None
                is_row_major = array.is_row_major and both.is_row_major and array.shape == both.shape
                return replace(made, is_numpy=array.is_numpy and both.is_numpy, is_row_major=is_row_major)
        a, b = self.variables.number(left), self.variables.number(right)
        if self._is_python_2 and isinstance(sign, ast.Div) and a and b and a.is_whole and b.is_whole:
            sign = ast.FloorDiv()
        result = combined(a, sign, b)
        is_known = self._is_python_3 or not isinstance(sign, ast.Div) or not a or a.dtype != "int"
        return result if is_known or result is None else replace(result, dtype="")

    def _unary(self, node: ast.UnaryOp) -> Value | None:
        match node:
            case ast.UnaryOp(ast.USub(), ast.BinOp(ast.UnaryOp(ast.USub(), left), ast.FloorDiv(), right)):
                return rounded_up(self._number(left), self._number(right))  # -(-n // 16)
            case ast.UnaryOp(ast.Not(), operand):
                value = self.value(operand)
                holds = truth(value)
                decided = None if holds is None else constant(not holds)
                return decided or combined(self.variables.number(value), ast.Eq(), constant(0))
            case ast.UnaryOp(ast.USub(), operand):
                return combined(constant(0), ast.Sub(), self._number(operand))
        return None

    def _compared(self, a: Value, sign: ast.cmpop, b: Value) -> Value | None:
        is_text = isinstance(a, KernelText) and isinstance(b, KernelText)
        if is_text and isinstance(sign, ast.Eq | ast.NotEq):
            return constant((str(a) == str(b)) == isinstance(sign, ast.Eq))
        if isinstance(sign, ast.Is | ast.IsNot) and b is NOTHING and not isinstance(a, Unknown | Library):
            return constant((a is NOTHING) == isinstance(sign, ast.Is))
        return combined(self.variables.number(a), sign, self.variables.number(b))

    def _joint(self, node: ast.BoolOp) -> Value | None:
        """Return the value of `a and b` or `a or b`."""
        is_and, undecided = isinstance(node.op, ast.And), list[str]()
        for each in node.values:
            value = self.value(each)
            holds, number = truth(value), self.variables.number(value)
            if holds is not None and (holds != is_and or each is node.values[-1]):
                return None if undecided else value
            if holds is None and number is None:
                return None
            undecided += [number.text] if holds is None and number else []
        return HostNumber(f"({(' && ' if is_and else ' || ').join(undecided)})")

    def _attribute(self, owner: Value, name: str, node: ast.expr) -> Value | None:
        match owner:
            case Instance(of=of, names=names):
                found = names[name] if name in names else of.find(name) if of else None
                if isinstance(found, Function) and name not in names:
                    method = replace(found, owner=None if "staticmethod" in found.decorators else owner)
                    is_value = found.decorators & {"property", "cached_property"}
                    return self._run(method, None) if is_value else method
                return Unknown(name, node) if found is None else found
            case Class():
                return owner.find(name)
            case Library(path=path):
                return Library(f"{path}.{name}")
            case NamedFile(path=path):
                return path_attribute(path, name)
        if name in ("shape", "size", "nbytes", "itemsize") and isinstance(owner, HostArray | Unknown):
            return self._of_array(owner, name)
        if name == "T" and isinstance(owner, HostArray):
            return transposed(owner, f"{owner.name or NAMELESS}.T")
        call = Call(name, owner, [], {}, 0, self.variables)
        same = method_value(call) if isinstance(owner, HostArray | Unknown) else None
        named = Unknown(f"{owner.name}.{name}") if isinstance(owner, Unknown) and owner.name else None
        return named if same is None else same

    def _of_array(self, array: HostArray | Unknown, name: str) -> Value | None:
        shape = self.variables.shape_of(array)
        if name == "itemsize":
            return HostNumber("sizeof(float)")
        if name == "shape" or shape is None or isinstance(array, Unknown):
            return (shape and whole_extents(shape)) if name == "shape" else None
        factors = [*shape, HostNumber("sizeof(float)")] if name == "nbytes" else shape
        total: HostNumber | None = factors[0]
        for factor in factors[1:]:
            total = combined(total, ast.Mult(), factor)
        return replace(total, bytes_of=array.dtype) if total and name == "nbytes" else total

    def _subscript(self, owner: Value, key: Value) -> Value | None:
        if owner == Library("sys.argv"):
            return NamedFile(self._name) if getattr(key, "value", None) == 0 else FOR_USER
        return owner.get(str(key)) if isinstance(owner, dict) else element(owner, key)

    # Calls

    def _line_of_grid(self, node: ast.Call) -> int:
        """Return the line in which the variable that is a launch's grid got its value; 0 if unknown."""
        named = [each.value for each in node.keywords if each.arg == "grid"]
        for grid in (named or node.args)[:1]:
            if isinstance(grid, ast.Name) and isinstance(self._frame.find(grid.id), tuple):
                return self._frame.lines.get(grid.id, 0)
        return 0

    def _call(self, node: ast.Call) -> Value | None:
        owner = self.value(node.func.value) if isinstance(node.func, ast.Attribute) else None
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        called = self._attribute(owner, name, node.func) if name else self.value(node.func)
        given = self._several(node.args)
        keywords = {each.arg or "": self.value(each.value) for each in node.keywords}
        others = keywords.pop("", None)  # **options
        keywords |= others if isinstance(others, dict) else {}
        name = called.path.rpartition(".")[2] if isinstance(called, Library) else name
        call = Call(name, owner, list(given or ()), keywords, node.lineno, self.variables)
        for value in (*call.arguments, *keywords.values()):
            self._note(value, node)
        if isinstance(called, Instance):
            method = self._attribute(called, "__call__", node.func)
            called = self._attribute(called, "forward", node.func) if isinstance(method, Unknown) else method
        if isinstance(owner, Instance) and isinstance(called, Unknown) and name in _SAME_MODULE:
            return owner
        if isinstance(called, Function):
            return self._run(called, call)
        if isinstance(called, Class):
            return self._instance(called, call)
        forward = owner.find("forward") if isinstance(owner, Class) and name == "apply" else None
        if isinstance(forward, Function):  # of a torch.autograd.Function, which gets its context first
            return self._run(forward, replace(call, arguments=[Unknown("ctx"), *call.arguments]))
        kernel = called if isinstance(called, Kernel) else owner if isinstance(owner, Kernel) else None
        launch = launch_of(kernel, call, self.frames) if kernel and given is not None else None
        if kernel and launch:
            launch = launch.with_grid_of(self._line_of_grid(node))
            of_call = self.launches.setdefault((node, str(kernel.module.text), kernel.name), [])
            if len(of_call) < MOST_LAUNCHES and launch not in of_call:
                of_call.append(launch)
            return NOTHING
        if name in MODULES:
            made = module_of(call)
            self.modules += [made.module if isinstance(made, Kernel) else made] if made else []
            return made
        match name, owner:
            case "locals" | "globals" | "vars", _:
                return dict(self.frames[0 if name == "globals" else -1].names)
            case "exit" | "_exit" | "quit", _:
                return Library("sys.exit()")
            case "append", tuple() if isinstance(node.func, ast.Attribute):
                self._assign(node.func.value, (*owner, *call.arguments))
            case "read" | "read_text" | "read_bytes", NamedFile(path=path):
                return self._read(path, node)
            case "add_argument", _:
                names = [
                    str(each)
                    for each in (*call.arguments, keywords.get("dest"))
                    if isinstance(each, KernelText)
                ]
                option = "".join(names[-1:]).lstrip("-").replace("-", "_")
                default = keywords.get("default", FOR_USER)
                is_sure = isinstance(default, HostNumber) and keywords.get("type") == Library(default.dtype)
                if isinstance(default, HostNumber) and not is_sure:
                    default = replace(default, dtype="")
                self._options[option] = self.variables.named(option, default)
            case "parse_args", _:
                return Instance(None, self._options)
        if isinstance(owner, Module) and not name.startswith("get_"):
            self.extension_calls.append(call)
            return None
        self.calls.append(call)
        factors = [*([owner] if isinstance(owner, HostArray) else []), *call.arguments]
        if call.name in ("dot", "matmul", "mm") and len(factors) > 1:
            self.products.append((factors[0], factors[1]))
        elif call.name == "linear" and len(factors) > 1 and isinstance(factors[1], HostArray):
            self.products.append((factors[0], transposed(factors[1], "")))
        found = None if owner is None or isinstance(called, Library) else method_value(call)
        return library_value(call) if found is None else found

    def _instance(self, of: Class, call: Call | None) -> Instance:
        """Return an object of a class."""
        made = Instance(of)
        self._instances.append(made)
        begin = of.find("__init__")
        if isinstance(begin, Function):
            self._run(replace(begin, owner=made), call)
        return made

    def _run(self, function: Function, call: Call | None) -> Value | None:
        """Follow a function, and return what it returns; without a call, its arguments are not known."""
        node = function.node
        self._entered.add(node)
        if self._depth >= MOST_DEPTH:
            return None
        frame = Frame(outer=function.frame)
        arguments = [*([] if function.owner is None else [function.owner]), *(call.arguments if call else [])]
        for place, (parameter, default) in enumerate(function.parameters):
            value = arguments[place] if place < len(arguments) else None
            value = call.keywords.get(parameter.arg, value) if call else value
            value = self.value(default) if value is None and default else value
            if not call and isinstance(value, HostNumber):  # a caller elsewhere may pass another type
                value = replace(value, dtype="")
            elif not call and isinstance(value, Library) and dtype_of(value):
                value = None
            value = Unknown(node=parameter) if value is None else value
            frame.names[parameter.arg] = self.variables.named(parameter.arg, value)
        if node.args.vararg and call:
            frame.names[node.args.vararg.arg] = tuple(arguments[len(function.parameters) :])
        self.frames.append(frame)
        self._depth += 5
        try:
            if isinstance(node, ast.Lambda):
                return self.value(node.body)
            self._block(node.body)
        finally:
            self._depth -= 5
            self.frames.pop()
        first = frame.returned[0] if frame.returned else NOTHING
        return first if all(each == first for each in frame.returned) else None
