package celtext

import (
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// maxString is the most bytes that replace and join return: several objects.
const maxString = 16 << 20

// Replace redefines the function of the strings library (cel-go, ext.Strings).
func Replace() cel.EnvOption {
	text := cel.StringType
	return cel.Function("replace",
		cel.MemberOverload("string_replace_string_string", []*cel.Type{text, text, text}, text, cel.FunctionBinding(func(args ...ref.Val) ref.Val {
			return replaced(args, -1)
		})),
		cel.MemberOverload("string_replace_string_string_int", []*cel.Type{text, text, text, cel.IntType}, text, cel.FunctionBinding(func(args ...ref.Val) ref.Val {
			n, ok := args[3].(types.Int)
			if !ok {
				return types.MaybeNoSuchOverloadErr(args[3])
			}
			return replaced(args[:3], int64(n))
		})),
	)
}

// replaced replaces at most n times, or without a limit if n is negative.
func replaced(args []ref.Val, n int64) ref.Val {
	var s [3]string
	for i, arg := range args {
		text, ok := arg.(types.String)
		if !ok {
			return types.MaybeNoSuchOverloadErr(arg)
		}
		s[i] = string(text)
	}
	count := int64(strings.Count(s[0], s[1]))
	if n >= 0 {
		count = min(count, n)
	}
	if err := check("replace", int64(len(s[0]))+count*int64(len(s[2])-len(s[1]))); err != nil {
		return err
	}
	return types.String(strings.Replace(s[0], s[1], s[2], int(count)))
}

// Join redefines the function of the strings library.
func Join() cel.EnvOption {
	text, list := cel.StringType, cel.ListType(cel.StringType)
	return cel.Function("join",
		cel.MemberOverload("list_join", []*cel.Type{list}, text, cel.UnaryBinding(func(list ref.Val) ref.Val {
			return joined(list, types.String(""))
		})),
		cel.MemberOverload("list_join_string", []*cel.Type{list, text}, text, cel.BinaryBinding(joined)),
	)
}

func joined(list, separator ref.Val) ref.Val {
	lister, ok := list.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(list)
	}
	between, ok := separator.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(separator)
	}
	var parts []string
	size := int64(0)
	for it := lister.Iterator(); it.HasNext() == types.True; {
		part, ok := it.Next().(types.String)
		if !ok {
			return types.NewErr("join: invalid input: %v", list)
		}
		if len(parts) > 0 {
			size += int64(len(between))
		}
		size += int64(len(part))
		if err := check("join", size); err != nil {
			return err
		}
		parts = append(parts, string(part))
	}
	return types.String(strings.Join(parts, string(between)))
}

// check returns an error for a result of too many bytes, nil otherwise.
func check(function string, size int64) ref.Val {
	if size <= maxString {
		return nil
	}
	return types.NewErr("%s: the result would have %d bytes, at most %d are allowed", function, size, maxString)
}
