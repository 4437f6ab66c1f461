package shell

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxBraces bounds the braces of one word: those of a longer one are literal.
const maxBraces = 200

// wordBytes is the memory of one word that braces produce, besides its text.
const wordBytes = 200

// braces expands the braces of a word: a{b,c} to ab and ac, {1..3} to 1, 2 and 3. The words are counted,
// and their memory is reserved, before they are made.
func (s *Shell) braces(ctx context.Context, word *syntax.Word) ([]*syntax.Word, error) {
	own := splitBraces(word)
	if own == nil || s.options["nobraceexpand"] {
		return []*syntax.Word{word}, nil
	}
	bytes := int64(min(countBraces(own), math.MaxInt32)) * int64(wordBytes+pieceBytes*len(own.Parts))
	if err := s.Container.Reserve(bytes); err != nil {
		return nil, err
	}
	s.held += bytes
	return s.expandBraces(ctx, own.Parts)
}

// splitBraces returns a copy of a word, in which braces are taken apart; nil if there are none.
func splitBraces(word *syntax.Word) *syntax.Word {
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
	own := splitBraces(word)
	if own == nil {
		return 1
	}
	return countBraces(own)
}

// countBraces is CountBraces for a word whose braces are taken apart.
func countBraces(word *syntax.Word) float64 {
	n := 1.0
	for _, part := range word.Parts {
		br, ok := part.(*syntax.BraceExp)
		if !ok {
			continue
		}
		sum := 0.0
		if br.Sequence {
			sum = float64(sequenceOf(br).count)
		} else {
			for _, elem := range br.Elems {
				sum += countBraces(elem)
			}
		}
		n *= max(sum, 1)
	}
	return n
}

func (s *Shell) expandBraces(ctx context.Context, parts []syntax.WordPart) ([]*syntax.Word, error) {
	for i, part := range parts {
		br, ok := part.(*syntax.BraceExp)
		if !ok {
			continue
		}
		tails, err := s.expandBraces(ctx, parts[i+1:])
		if err != nil {
			return nil, err
		}
		var all []*syntax.Word
		add := func(middle []syntax.WordPart) error {
			for _, tail := range tails {
				if err := s.turn.Step(ctx); err != nil {
					return err
				}
				all = append(all, &syntax.Word{Parts: slices.Concat(parts[:i:i], middle, tail.Parts)})
			}
			return nil
		}
		if br.Sequence {
			q := sequenceOf(br)
			for k := range q.count {
				if err := add([]syntax.WordPart{&syntax.Lit{Value: q.at(k)}}); err != nil {
					return nil, err
				}
			}
			return all, nil
		}
		for _, elem := range br.Elems {
			middles, err := s.expandBraces(ctx, elem.Parts)
			if err != nil {
				return nil, err
			}
			for _, middle := range middles {
				if err := add(middle.Parts); err != nil {
					return nil, err
				}
			}
		}
		return all, nil
	}
	return []*syntax.Word{{Parts: parts}}, nil
}

// sequence is {from..to..step} of numbers or letters.
type sequence struct {
	from, step, count int
	letters           bool
	width             int
}

func sequenceOf(br *syntax.BraceExp) sequence {
	from, to := br.Elems[0].Lit(), br.Elems[1].Lit()
	q := sequence{step: 1}
	a, errA := strconv.Atoi(from)
	b, errB := strconv.Atoi(to)
	if errA != nil || errB != nil {
		if from == "" || to == "" {
			return sequence{}
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
	q.count = int(min(distance/float64(q.step), math.MaxInt32)) + 1
	if q.from = a; b < a {
		q.step = -q.step
	}
	return q
}

func padded(text string) bool {
	text = strings.TrimPrefix(text, "-")
	return len(text) > 1 && text[0] == '0'
}

func (q sequence) at(k int) string {
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
