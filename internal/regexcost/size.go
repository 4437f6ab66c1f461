package regexcost

import (
	"fmt"
	"regexp/syntax"
)

// Instructions returns about how many instructions the pattern compiles to. It fails for
// what regexp.Compile rejects, which limits the nesting and the repeats. Its time is
// proportional to the length of the pattern.
func Instructions(pattern string) (int, error) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, fmt.Errorf("reading the pattern: %w", err)
	}
	return instructions(parsed), nil
}

func instructions(re *syntax.Regexp) int {
	inner := 0
	for _, sub := range re.Sub {
		inner += instructions(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpConcat:
		return inner
	case syntax.OpAlternate:
		return inner + len(re.Sub) - 1
	case syntax.OpCapture:
		return inner + 2
	case syntax.OpRepeat:
		if re.Max < 0 {
			return (re.Min+1)*inner + 1
		}
		return re.Min*inner + (re.Max-re.Min)*(inner+1)
	}
	return inner + 1
}
