package celtext

import (
	"regexp"
	"regexp/syntax"

	"github.com/google/cel-go/cel"
	celenv "github.com/google/cel-go/common/env"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// StdLib returns CEL's standard library without matches, for cel.NewCustomEnv.
func StdLib() cel.EnvOption {
	return cel.StdLib(cel.StdLibSubset(celenv.NewLibrarySubset().AddExcludedFunctions(celenv.NewFunction(overloads.Matches))))
}

// The budgets of patterns: the instructions of a compiled one, and these times the bytes of the text.
const (
	maxPattern      = 256
	maxInstructions = 1000
	maxSteps        = 10_000_000
)

// Matches returns CEL's function matches with limits, for an environment with StdLib.
func Matches() cel.EnvOption {
	text := types.StringType
	matches := cel.BinaryBinding(func(in, with ref.Val) ref.Val {
		s, ok := in.(types.String)
		pattern, isText := with.(types.String)
		if !ok || !isText {
			return types.MaybeNoSuchOverloadErr(with)
		}
		if len(pattern) > maxPattern {
			return types.NewErr("a pattern has %d bytes, more than %d", len(pattern), maxPattern)
		}
		parsed, err := syntax.Parse(string(pattern), syntax.Perl)
		if err != nil {
			return types.WrapErr(err)
		}
		program, err := syntax.Compile(parsed.Simplify())
		if err != nil {
			return types.WrapErr(err)
		}
		if n := len(program.Inst); n > maxInstructions || n*len(s) > maxSteps {
			return types.NewErr("matching a string of %d bytes with the pattern %q takes too many steps", len(s), string(pattern))
		}
		re, err := regexp.Compile(string(pattern))
		if err != nil {
			return types.WrapErr(err)
		}
		return types.Bool(re.MatchString(string(s)))
	})
	return cel.Function(overloads.Matches,
		cel.Overload("matches_limited", []*types.Type{text, text}, types.BoolType, matches),
		cel.MemberOverload("string_matches_limited", []*types.Type{text, text}, types.BoolType, matches))
}
