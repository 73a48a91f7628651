package cel

import (
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/expr"
	genproto "google.golang.org/genproto/googleapis/api/expr/v1alpha1"

	"github.com/xdsforge/xdsforge/framework/matcher"
	"github.com/xdsforge/xdsforge/framework/resource"
)

// The limits of an expression.
const (
	maxNodes = 10_000
	// maxDepth is the limit of nested nodes, that of the CEL library.
	maxDepth = 250
	// maxName is the limit of the name of a variable or function, in bytes. The checker compares an unknown one with all others.
	maxName = 256
	// maxLiterals is the limit of nested lists and maps. The time to check them grows with the cube of their depth.
	maxLiterals = 4
	// maxRegex is the limit of the instructions of a regular expression (A106).
	maxRegex = 100
	// maxPattern is the limit of a regular expression that is no constant, in bytes. Each call of the function compiles it.
	maxPattern = 1024
	// maxRegexes is the limit of the calls of the function matches. A call takes milliseconds for a long header.
	maxRegexes = 100
	// nodeSize is the cost of a node of a compiled expression, in bytes.
	nodeSize = 1024
)

// newEnv returns the restricted environment of A106.
func newEnv() (*cel.Env, error) {
	subset := env.NewLibrarySubset().SetDisableMacros(true).AddExcludedFunctions(
		env.NewFunction(operators.Add, env.NewOverload(overloads.AddString, nil, nil), env.NewOverload(overloads.AddBytes, nil, nil), env.NewOverload(overloads.AddList, nil, nil)),
		env.NewFunction(overloads.TypeConvertString),
		env.NewFunction(overloads.TypeConvertDyn),
		env.NewFunction(overloads.Matches), // newEnv declares another one
	)
	registry, err := types.NewRegistry()
	if err != nil {
		return nil, err
	}
	return cel.NewCustomEnv(
		cel.CustomTypeProvider(provider{registry}),
		cel.StdLib(cel.StdLibSubset(subset)),
		cel.Function(overloads.Matches,
			cel.Overload(overloads.Matches, []*cel.Type{cel.StringType, cel.StringType}, cel.BoolType),
			cel.MemberOverload(overloads.MatchesString, []*cel.Type{cel.StringType, cel.StringType}, cel.BoolType),
			cel.SingletonBinaryBinding(matches)),
		cel.Variable("request", cel.ObjectType(requestType)),
		cel.Variable("source", cel.ObjectType(sourceType)),
		cel.Variable("connection", cel.ObjectType(connectionType)),
		cel.Variable("xds", cel.ObjectType(xdsType)),
	)
}

// compile checks an expression again, with the types of A106, and compiles it.
func compile(dc *resource.DecodeContext, e *cel.Env, m *expr.Expr) (cel.Program, error) {
	b := &rebuilder{factory: ast.NewExprFactory()}
	root, err := b.expr(m, 1)
	if err != nil {
		return nil, err
	}
	if err := dc.Spend(b.nodes, nodeSize); err != nil {
		return nil, err
	}
	for _, pattern := range b.patterns {
		if _, err := matcher.CompilePart(dc, pattern); err != nil { // the limits of the resource apply
			return nil, err
		}
		if _, err := types.CompileRegexWithLimit(pattern, maxRegex); err != nil {
			return nil, fmt.Errorf("must have regular expressions of at most %d instructions: %w (A106)", maxRegex, err)
		}
	}
	message, err := ast.ExprToProto(root)
	if err != nil {
		return nil, err
	}
	checked, issues := e.Check(cel.ParsedExprToAst(&genproto.ParsedExpr{Expr: message, SourceInfo: new(genproto.SourceInfo)}))
	if err := issues.Err(); err != nil {
		return nil, problems(issues)
	}
	if !checked.OutputType().IsExactType(cel.BoolType) {
		return nil, fmt.Errorf("must be of the type bool; it is of the type %s (A106)", checked.OutputType())
	}
	if err := checkSums(checked); err != nil {
		return nil, err
	}
	return e.Program(checked, cel.EvalOptions(cel.OptOptimize))
}

// matches is the function for patterns that are no constants. The optimizer has compiled the constants. The length is checked
// first, because a client could send a header of megabytes as the pattern.
func matches(text, pattern ref.Val) ref.Val {
	s, ok := text.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(text)
	}
	p, ok := pattern.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(pattern)
	}
	if len(p) > maxPattern {
		return types.NewErr("cel: a regular expression of a call has %d bytes; must have at most %d", len(p), maxPattern)
	}
	re, err := types.CompileRegexWithLimit(string(p), maxRegex)
	if err != nil {
		return types.WrapErr(err)
	}
	return types.Bool(re.MatchString(string(s)))
}

// problems returns the error for an expression that does not check.
func problems(issues *cel.Issues) error {
	all := issues.Errors()
	texts := make([]string, 0, len(all))
	for _, e := range all {
		texts = append(texts, e.Message)
	}
	return errors.New("must be a valid expression with the attributes and functions of A106: " + strings.Join(texts, "; "))
}

// checkSums returns an error if the operands of a sum could be texts, bytes or lists when the expression is evaluated.
func checkSums(checked *cel.Ast) error {
	var err error
	native := checked.NativeRep()
	ast.PreOrderVisit(native.Expr(), ast.NewExprVisitor(func(x ast.Expr) {
		if x.Kind() != ast.CallKind || x.AsCall().FunctionName() != operators.Add {
			return
		}
		if ids := native.ReferenceMap()[x.ID()].OverloadIDs; len(ids) != 1 {
			err = errors.New("must not add values of unknown types, which could be texts (A106)")
		}
	}))
	return err
}
