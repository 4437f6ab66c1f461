package dump

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Summary is the result of loading a dump. Every object is counted in Loaded, or named in
// Left or Refused.
type Summary struct {
	// Sources are the origins of the objects.
	Sources []string `json:"sources"`
	// Loaded are the numbers of loaded objects by kind, sorted by kind.
	Loaded []Count `json:"loaded"`
	// Made are created objects that are not in the dump and that other objects need.
	Made []Note `json:"made,omitempty"`
	// Missing are objects that others refer to, that are not in the dump, and on which depends where
	// pods run. Absent are kinds of which the dump has no objects, although it comes from a cluster and
	// was not taken of all kinds.
	Missing []Missing `json:"missing,omitempty"`
	Absent  []string  `json:"absentKinds,omitempty"`
	// Left are objects that were left out.
	Left []Note `json:"left,omitempty"`
	// Changed are loaded objects that differ from the dump.
	Changed []Note `json:"changed,omitempty"`
	// Refused are objects that the API server refused.
	Refused []Refusal `json:"refused,omitempty"`
	// Nodes are the names of the Nodes that were loaded.
	Nodes []string `json:"nodes,omitempty"`
}

// Count is the number of objects of a kind.
type Count struct {
	Kind  string `json:"kind"`
	Count int    `json:"count"`
}

// Note is a reason that applies to several objects.
type Note struct {
	Reason string `json:"reason"`
	// Objects are named as in "pod/web-1 in shop".
	Objects []string `json:"objects"`
}

// Refusal is an object with the API server's error.
type Refusal struct {
	Object string `json:"object"`
	Error  string `json:"error"`
}

// Total returns the number of loaded objects.
func (s *Summary) Total() int {
	total := 0
	for _, c := range s.Loaded {
		total += c.Count
	}
	return total
}

// note adds an object to the note with the reason.
func note(notes []Note, reason, object string) []Note {
	for i := range notes {
		if notes[i].Reason == reason {
			notes[i].Objects = append(notes[i].Objects, object)
			return notes
		}
	}
	return append(notes, Note{Reason: reason, Objects: []string{object}})
}

func (s *Summary) loaded(kind string) {
	for i := range s.Loaded {
		if s.Loaded[i].Kind == kind {
			s.Loaded[i].Count++
			return
		}
	}
	s.Loaded = append(s.Loaded, Count{kind, 1})
}

func (s *Summary) sort() {
	slices.SortFunc(s.Loaded, func(a, b Count) int { return strings.Compare(a.Kind, b.Kind) })
	for _, notes := range [][]Note{s.Made, s.Left, s.Changed} {
		slices.SortFunc(notes, func(a, b Note) int { return strings.Compare(a.Reason, b.Reason) })
	}
}

// maxMissing caps the missing objects that are printed.
const maxMissing = 10

// maxNamed caps the objects of a note that are printed by name.
const maxNamed = 3

// Print writes the summary as text: kinds with their counts, then a line for each reason for
// which objects were added, left out or changed.
func (s *Summary) Print(w io.Writer) error {
	var b strings.Builder
	kinds := make([]string, len(s.Loaded))
	for i, c := range s.Loaded {
		kinds[i] = plural(c.Count, c.Kind)
	}
	fmt.Fprintf(&b, "Loaded %s from %s: %s.\n", plural(s.Total(), "object"), joined(s.Sources), joined(kinds))
	for _, part := range []struct {
		what  string
		notes []Note
	}{{"Added", s.Made}, {"Left out", s.Left}, {"Changed", s.Changed}} {
		for _, n := range part.notes {
			fmt.Fprintf(&b, "  %s %s: %s\n", part.what, named(n.Objects), n.Reason)
		}
	}
	for i, m := range s.Missing {
		if i == maxMissing && len(s.Missing) > maxMissing+1 {
			fmt.Fprintf(&b, "  Missing %d more objects that others refer to\n", len(s.Missing)-i)
			break
		}
		by := joined(m.NeededBy)
		if m.More > 0 {
			by += fmt.Sprintf(" and %d more", m.More)
		}
		fmt.Fprintf(&b, "  Missing %s, to which refers %s\n", m.Object, by)
	}
	if len(s.Absent) > 0 {
		fmt.Fprintf(&b, "  The dump has no objects of the kinds %s: if the cluster has some, they are not taken into account\n", joined(s.Absent))
	}
	for _, r := range s.Refused {
		fmt.Fprintf(&b, "  Refused %s: %s\n", r.Object, r.Error)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// named joins the names of up to maxNamed objects. More objects are counted by kind.
func named(objects []string) string {
	if len(objects) <= maxNamed {
		return joined(objects)
	}
	counts := map[string]int{}
	for _, object := range objects {
		kind, _, _ := strings.Cut(object, "/")
		counts[kind]++
	}
	var texts []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		texts = append(texts, plural(counts[kind], kind))
	}
	return joined(texts)
}

func joined(texts []string) string {
	if len(texts) == 0 {
		return "nothing"
	}
	return strings.Join(texts, ", ")
}
