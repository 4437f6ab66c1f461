package script

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"minikcm.dev/minikcm/kubeletsim/internal/shelltree"
)

// The limits of a script that is predicted. Package expand has none of its own: without Repl, what a word
// expands to is no longer than its text times the longest value. A script beyond a limit is not predictable,
// and package box runs it within the container's memory.
const (
	// maxScript bounds the text, in bytes.
	maxScript = 16 << 10
	// maxValue bounds the value of a variable, maxCaptured the output of a command substitution, in
	// bytes.
	maxValue    = 4 << 10
	maxCaptured = 16 << 10
	// maxBraces bounds the words that the braces of one word stand for.
	maxBraces = 1000
	// maxWidthDigits bounds the digits of a number in a format of printf.
	maxWidthDigits = 3
)

// parse parses a script whose expansions are bounded.
func parse(text string) (*syntax.File, error) {
	if len(text) > maxScript {
		return nil, ErrNotPredictable
	}
	file, err := shelltree.Parse(text, "", nil)
	if err != nil {
		return nil, ErrNotPredictable
	}
	bounded := true
	syntax.Walk(file, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.ParamExp:
			bounded = bounded && node.Repl == nil
		case *syntax.Word:
			bounded = bounded && shelltree.CountBraces(node) <= maxBraces
		}
		return bounded
	})
	if !bounded {
		return nil, ErrNotPredictable
	}
	return file, nil
}

// wide reports whether a format of printf may ask for much room.
func wide(format string) bool {
	digits := 0
	for _, c := range format {
		if digits++; c < '0' || c > '9' {
			digits = 0
		}
		if digits > maxWidthDigits {
			return true
		}
	}
	return strings.Contains(format, "*")
}
