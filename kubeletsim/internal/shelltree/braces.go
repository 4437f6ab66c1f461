package shelltree

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxBraces bounds the braces of one word: in a word with more, all braces are literal.
const maxBraces = 200

// SplitBraces returns a copy of a word, in which braces are taken apart; nil if there are none.
func SplitBraces(word *syntax.Word) *syntax.Word {
	n := 0
	for _, part := range word.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			n += strings.Count(lit.Value, "{")
		}
	}
	if n == 0 || n > maxBraces {
		return nil
	}
	own := &syntax.Word{Parts: slices.Clone(word.Parts)} // SplitBraces changes it
	if !syntax.SplitBraces(own) {
		return nil
	}
	return own
}

// CountBraces returns the number of words that the braces of a word stand for.
func CountBraces(word *syntax.Word) float64 {
	own := SplitBraces(word)
	if own == nil {
		return 1
	}
	return CountSplit(own)
}

// CountSplit is CountBraces for a word whose braces are taken apart.
func CountSplit(word *syntax.Word) float64 {
	n := 1.0
	for _, part := range word.Parts {
		br, ok := part.(*syntax.BraceExp)
		if !ok {
			continue
		}
		sum := 0.0
		if br.Sequence {
			sum = float64(SequenceOf(br).Count)
		} else {
			for _, elem := range br.Elems {
				sum += CountSplit(elem)
			}
		}
		n *= max(sum, 1)
	}
	return n
}

// Sequence is {from..to..step} of numbers or letters.
type Sequence struct {
	from, step int
	// Count is the number of its elements.
	Count int

	letters bool
	width   int
}

// SequenceOf reads a brace expression that is a sequence.
func SequenceOf(br *syntax.BraceExp) Sequence {
	from, to := br.Elems[0].Lit(), br.Elems[1].Lit()
	q := Sequence{step: 1}
	a, errA := strconv.Atoi(from)
	b, errB := strconv.Atoi(to)
	if errA != nil || errB != nil {
		if from == "" || to == "" {
			return Sequence{}
		}
		a, b, q.letters = int(from[0]), int(to[0]), true
	} else if padded(from) || padded(to) {
		q.width = max(len(from), len(to))
	}
	if len(br.Elems) > 2 {
		if n, err := strconv.Atoi(br.Elems[2].Lit()); err == nil && n != 0 && n > math.MinInt32 {
			q.step = max(n, -n)
		}
	}
	distance := math.Abs(float64(b) - float64(a))
	q.Count = int(min(distance/float64(q.step), math.MaxInt32)) + 1
	if q.from = a; b < a {
		q.step = -q.step
	}
	return q
}

func padded(text string) bool {
	text = strings.TrimPrefix(text, "-")
	return len(text) > 1 && text[0] == '0'
}

// At returns an element.
func (q Sequence) At(k int) string {
	n := q.from + k*q.step
	if q.letters {
		return string(rune(n))
	}
	text := strconv.Itoa(n)
	if missing := q.width - len(text); missing > 0 {
		sign := ""
		if n < 0 {
			sign, text = "-", text[1:]
		}
		text = sign + strings.Repeat("0", missing) + text
	}
	return text
}
