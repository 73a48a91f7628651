package cel

import (
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/expr"
)

// A rebuilder copies an expression of a control plane. The copy has identifiers of its own, because types and references belong
// to them. Checkers replace select expressions by qualified names; the copy has the select expressions again.
type rebuilder struct {
	factory  ast.ExprFactory
	literals int      // the lists and maps around the node
	nodes    int      // of the control plane
	last     int64    // the last identifier
	regexes  int      // the calls of matches
	patterns []string // the constant regular expressions
}

// id returns a new identifier.
func (b *rebuilder) id() int64 {
	b.last++
	return b.last
}

var errName = fmt.Errorf("must not have a name of more than %d bytes", maxName)

var errComprehension = errors.New("must not have a comprehension (A106)")

func (b *rebuilder) expr(m *expr.Expr, depth int) (ast.Expr, error) {
	b.nodes++
	if b.nodes > maxNodes {
		return nil, fmt.Errorf("must have at most %d nodes", maxNodes)
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("must not nest more than %d nodes", maxDepth)
	}
	switch kind := m.GetExprKind().(type) {
	case *expr.Expr_ConstExpr:
		value, err := constant(kind.ConstExpr)
		return b.factory.NewLiteral(b.id(), value), err
	case *expr.Expr_IdentExpr:
		return b.ident(kind.IdentExpr.GetName())
	case *expr.Expr_SelectExpr:
		return b.selection(kind.SelectExpr, depth)
	case *expr.Expr_CallExpr:
		return b.call(kind.CallExpr, depth)
	case *expr.Expr_ListExpr, *expr.Expr_StructExpr:
		return b.literal(m, depth)
	case *expr.Expr_ComprehensionExpr:
		return nil, errComprehension
	default:
		return nil, errors.New("has a node without a kind")
	}
}

// literal copies a list or a map. The types of nested ones are so large that the checker would take minutes for 240 lists.
func (b *rebuilder) literal(m *expr.Expr, depth int) (ast.Expr, error) {
	b.literals++
	if b.literals > maxLiterals {
		return nil, fmt.Errorf("must not nest more than %d lists and maps", maxLiterals)
	}
	defer func() { b.literals-- }()
	list := m.GetListExpr()
	if list == nil {
		return b.entries(m.GetStructExpr(), depth)
	}
	if len(list.GetOptionalIndices()) > 0 {
		return nil, errOptional
	}
	elements, err := b.exprs(list.GetElements(), depth)
	return b.factory.NewList(b.id(), elements, nil), err
}

var errOptional = errors.New("must not have optional elements (A106)")

func (b *rebuilder) exprs(list []*expr.Expr, depth int) ([]ast.Expr, error) {
	var out []ast.Expr
	for _, m := range list {
		x, err := b.expr(m, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

// ident returns an identifier, or the selections that a qualified name replaces.
func (b *rebuilder) ident(name string) (ast.Expr, error) {
	if len(name) > maxName {
		return nil, errName
	}
	parts := strings.Split(strings.TrimPrefix(name, "."), ".")
	if len(parts) > 4 {
		return nil, fmt.Errorf("must not use the attribute %s (A106)", name)
	}
	x := b.factory.NewIdent(b.id(), parts[0])
	for _, part := range parts[1:] {
		x = b.factory.NewSelect(b.id(), x, part)
	}
	return x, nil
}

func (b *rebuilder) selection(m *expr.Expr_Select, depth int) (ast.Expr, error) {
	operand, err := b.expr(m.GetOperand(), depth+1)
	if err != nil {
		return nil, err
	}
	if m.GetTestOnly() {
		return b.factory.NewPresenceTest(b.id(), operand, m.GetField()), nil
	}
	return b.factory.NewSelect(b.id(), operand, m.GetField()), nil
}

func (b *rebuilder) call(m *expr.Expr_Call, depth int) (ast.Expr, error) {
	if len(m.GetFunction()) > maxName {
		return nil, errName
	}
	args, err := b.exprs(m.GetArgs(), depth)
	if err != nil {
		return nil, err
	}
	switch m.GetFunction() {
	case operators.OptSelect: // the checker accepts it without a declaration
		return nil, errOptional
	case overloads.Matches:
		if err := b.matches(args); err != nil {
			return nil, err
		}
	}
	if m.GetTarget() == nil {
		return b.factory.NewCall(b.id(), m.GetFunction(), args...), nil
	}
	target, err := b.expr(m.GetTarget(), depth+1)
	if err != nil {
		return nil, err
	}
	return b.factory.NewMemberCall(b.id(), m.GetFunction(), target, args...), nil
}

// matches counts a call of the function, and keeps the pattern if it is constant.
func (b *rebuilder) matches(args []ast.Expr) error {
	b.regexes++
	if b.regexes > maxRegexes {
		return fmt.Errorf("must not call the function matches more than %d times", maxRegexes)
	}
	if n := len(args); n > 0 && args[n-1].Kind() == ast.LiteralKind {
		if pattern, ok := args[n-1].AsLiteral().(types.String); ok {
			b.patterns = append(b.patterns, string(pattern))
		}
	}
	return nil
}

// entries copies a map. Messages are not part of A106.
func (b *rebuilder) entries(m *expr.Expr_CreateStruct, depth int) (ast.Expr, error) {
	if m.GetMessageName() != "" {
		return nil, errors.New("must not create a message (A106)")
	}
	var out []ast.EntryExpr
	for _, e := range m.GetEntries() {
		if e.GetOptionalEntry() {
			return nil, errOptional
		}
		key, err := b.expr(e.GetMapKey(), depth+1)
		if err != nil {
			return nil, err
		}
		value, err := b.expr(e.GetValue(), depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, b.factory.NewMapEntry(b.id(), key, value, false))
	}
	return b.factory.NewMap(b.id(), out), nil
}

// constant returns the value of a constant.
func constant(m *expr.Constant) (ref.Val, error) {
	switch kind := m.GetConstantKind().(type) {
	case *expr.Constant_NullValue:
		return types.NullValue, nil
	case *expr.Constant_BoolValue:
		return types.Bool(kind.BoolValue), nil
	case *expr.Constant_Int64Value:
		return types.Int(kind.Int64Value), nil
	case *expr.Constant_Uint64Value:
		return types.Uint(kind.Uint64Value), nil
	case *expr.Constant_DoubleValue:
		return types.Double(kind.DoubleValue), nil
	case *expr.Constant_StringValue:
		return types.String(kind.StringValue), nil
	case *expr.Constant_BytesValue:
		return types.Bytes(kind.BytesValue), nil
	default: // the others are deprecated
		return types.NullValue, errors.New("has a constant without a kind that A106 supports")
	}
}
