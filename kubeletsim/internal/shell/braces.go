package shell

import (
	"context"
	"math"
	"slices"

	"mvdan.cc/sh/v3/syntax"

	"minikcm.dev/minikcm/kubeletsim/internal/shelltree"
)

// wordBytes is the memory of one word that braces produce, besides its text.
const wordBytes = 200

// braces expands the braces of a word: a{b,c} to ab and ac, {1..3} to 1, 2 and 3. The words are counted,
// and their memory is reserved, before they are made.
func (s *Shell) braces(ctx context.Context, word *syntax.Word) ([]*syntax.Word, error) {
	own := shelltree.SplitBraces(word)
	if own == nil || s.options["nobraceexpand"] {
		return []*syntax.Word{word}, nil
	}
	bytes := int64(min(shelltree.CountSplit(own), math.MaxInt32)) * int64(wordBytes+pieceBytes*len(own.Parts))
	if err := s.Container.Reserve(bytes); err != nil {
		return nil, err
	}
	s.held += bytes
	return s.expandBraces(ctx, own.Parts)
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
			q := shelltree.SequenceOf(br)
			for k := range q.Count {
				if err := add([]syntax.WordPart{&syntax.Lit{Value: q.At(k)}}); err != nil {
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
