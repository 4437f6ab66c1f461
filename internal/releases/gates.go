package releases

import (
	_ "embed"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// The stages of a feature gate.
const (
	Alpha      = "Alpha"
	Beta       = "Beta"
	GA         = "GA"
	Deprecated = "Deprecated"
)

// Gate is a feature gate in a release.
type Gate struct {
	Name  string
	Stage string
	// On is the default, and Locked that it cannot be changed.
	On, Locked bool
}

// gatesText has a line for each gate: its name, and the releases in which it came, changed or went.
//
//go:embed gates.txt
var gatesText string

// gatesByRelease has the gates of each release by name.
var gatesByRelease = sync.OnceValue(func() (all [Newest - Oldest + 1]map[string]Gate) {
	for i := range all {
		all[i] = map[string]Gate{}
	}
	for line := range strings.Lines(gatesText) {
		words := strings.Fields(line)
		for _, change := range words[1:] {
			since, what, _ := strings.Cut(change, "=")
			from, _ := strconv.Atoi(since) // the recording is tested
			for m := Minor(from); m <= Newest; m++ {
				if what == "gone" {
					delete(all[m-Oldest], words[0])
					continue
				}
				all[m-Oldest][words[0]] = parseGate(words[0], what)
			}
		}
	}
	return all
})

// parseGate reads a description such as beta:on, or ga:on! of a locked gate.
func parseGate(name, what string) Gate {
	stage, value, _ := strings.Cut(what, ":")
	g := Gate{Name: name, On: strings.HasPrefix(value, "on"), Locked: strings.HasSuffix(value, "!")}
	for _, s := range []string{Alpha, Beta, GA, Deprecated} {
		if strings.EqualFold(s, stage) {
			g.Stage = s
		}
	}
	return g
}

// Gate returns a gate of the release; ok is false if the release has none of that name.
func (m Minor) Gate(name string) (g Gate, ok bool) {
	g, ok = gatesByRelease()[m-Oldest][name]
	return g, ok
}

// HadGate reports whether any release has a gate of that name.
func HadGate(name string) bool {
	return slices.ContainsFunc(All(), func(m Minor) bool {
		_, ok := m.Gate(name)
		return ok
	})
}

// Gates returns the names of the release's gates in order.
func (m Minor) Gates() []string {
	return slices.Sorted(maps.Keys(gatesByRelease()[m-Oldest]))
}

// Default reports whether a feature is on by default in the release. A gate that has gone keeps the
// value that it was last locked to, and one that has not come yet is off.
func (m Minor) Default(name string) bool {
	for ; m >= Oldest; m-- {
		if g, ok := m.Gate(name); ok {
			return g.On
		}
	}
	return false
}
