package hostile

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// grammar has the alternatives of each rule. In an alternative, «rule» stands for a text of
// that rule, and «rule*n» for n such texts in a row. The first alternative of a rule that
// refers to itself must end the recursion.
type grammar map[string][]string

const (
	// maxDepth is the nesting from which only first alternatives are chosen.
	maxDepth = 40
	// maxText is the length from which repetitions end, in bytes: more than the server accepts.
	maxText = 4 << 20
)

// derivation is one text being derived.
type derivation struct {
	grammar grammar
	rng     *rand.Rand
	fixed   map[string]string // texts of rules that have one meaning in the whole derivation
	out     strings.Builder
}

// derive returns a text of the rule. The same seed and number give the same text. The rule
// «id» is the number.
func (g grammar) derive(rule string, seed uint64, number int) string {
	d := derivation{grammar: g, rng: rand.New(rand.NewPCG(seed, uint64(number))), fixed: map[string]string{"id": strconv.Itoa(number)}}
	d.rule(rule, 0)
	return d.out.String()
}

func (d *derivation) rule(name string, depth int) {
	if text, ok := d.fixed[name]; ok {
		d.out.WriteString(text)
		return
	}
	alternatives := d.grammar[name]
	if len(alternatives) == 0 {
		panic("the grammar has no rule " + name)
	}
	chosen := alternatives[0]
	if depth < maxDepth {
		chosen = alternatives[d.rng.IntN(len(alternatives))]
	}
	for {
		text, rest, more := strings.Cut(chosen, "«")
		d.out.WriteString(text)
		if !more {
			return
		}
		var symbol string
		symbol, chosen, _ = strings.Cut(rest, "»")
		d.repeat(symbol, depth)
	}
}

func (d *derivation) repeat(symbol string, depth int) {
	name, count, repeated := strings.Cut(symbol, "*")
	n := 1
	if repeated {
		var err error
		if n, err = strconv.Atoi(count); err != nil {
			panic("the grammar has «" + symbol + "»")
		}
	}
	for ; n > 0 && (!repeated || d.out.Len() < maxText); n-- {
		d.rule(name, depth+1)
	}
}

func TestGrammar(t *testing.T) {
	g := grammar{"list": {"«id»", "[«list»,«list»]", "«word*3»"}, "word": {"a", "b"}, "long": {"«word*100000000»"}}
	for number := range 50 {
		text := g.derive("list", 1, number)
		if text != g.derive("list", 1, number) {
			t.Errorf("two derivations of number %d differ", number)
		}
		if strings.Count(text, "[") != strings.Count(text, "]") || strings.Contains(text, "«") {
			t.Errorf("number %d is not of the grammar: %s", number, text)
		}
	}
	if n := len(g.derive("long", 1, 0)); n != maxText {
		t.Errorf("a repetition has %d bytes, want %d", n, maxText)
	}
	for name, alternatives := range rules {
		for i := range 3 {
			if rules.derive(name, 1, i); len(alternatives) == 1 {
				break
			}
		}
	}
}
