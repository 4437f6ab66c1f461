package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"minikcm.dev/minikcm/internal/spell"
)

// Problem is one thing that is wrong with a file.
type Problem struct {
	File string
	// Line is 0 if the whole file is meant.
	Line int
	// Field is the path of the wrong field, such as spec.steps[2].wait.for.
	Field   string
	Message string

	// follows says that the problem may only follow from another one, since what could not
	// be read is missing. meant is the known field that the unknown Field is near to.
	follows bool
	meant   string
}

func (p Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	b.WriteString(": ")
	if p.Field != "" {
		b.WriteString(p.Field + ": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// Problems are all that is wrong with a file, in the order of their lines.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i := range p {
		lines[i] = p[i].Error()
	}
	return strings.Join(lines, "\n")
}

// err is nil if there are no problems. It drops repetitions, such as a problem that each turn of a
// loop has.
func (p Problems) err() error {
	if len(p) == 0 {
		return nil
	}
	rank := map[string]int{} // of the files, in the order in which they were read
	for i := range p {
		if _, known := rank[p[i].File]; !known {
			rank[p[i].File] = len(rank)
		}
	}
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(rank[a.File]-rank[b.File], a.Line-b.Line)
	})
	var once Problems
	for _, problem := range p {
		if !slices.Contains(once, problem) && !(problem.follows && slices.ContainsFunc(p, problem.becauseOf)) {
			once = append(once, problem)
		}
	}
	return once
}

// becauseOf says whether p may be there only because of other, which is about the same
// field, one that it is part of, or a part of it.
func (p Problem) becauseOf(other Problem) bool {
	return !other.follows && other.File == p.File &&
		(isPart(p.Field, other.Field) || isPart(other.Field, p.Field) || other.meant != "" && isPart(p.Field, other.meant))
}

func isPart(field, of string) bool {
	rest, part := strings.CutPrefix(field, of)
	return part && (rest == "" || of == "" || rest[0] == '.' || rest[0] == '[')
}

// DidYouMean returns a hint at the known name that is nearest to the written one; it lists the
// known names if none is near.
func DidYouMean(written string, known []string) string {
	if best := spell.Nearest(written, known); best != "" {
		return fmt.Sprintf("did you mean %s?", best)
	}
	if len(known) == 0 {
		return "there are none here"
	}
	return "known here: " + strings.Join(known, ", ")
}
