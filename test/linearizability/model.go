package linearizability

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// state is a key between two operations. It is comparable.
type state struct {
	exists bool
	value  string
	// revision is 0 if the key does not exist, or if the write that made it has an unknown
	// outcome and was not read yet.
	revision int64
	// floor is a revision that the next write exceeds.
	floor int64
}

func (s state) String() string {
	if !s.exists {
		return fmt.Sprintf("absent since after %d", s.floor)
	}
	return fmt.Sprintf("%q at %d", s.value, s.revision)
}

// isAt reports whether the key may be at a revision.
func (s state) isAt(revision int64) bool {
	return s.exists && (s.revision == revision || s.revision == 0 && revision > s.floor)
}

// isNotAt reports whether the key may be at another revision.
func (s state) isNotAt(revision int64) bool {
	return s.exists && (s.revision == 0 || s.revision != revision)
}

func (s state) written(value string, revision int64) state {
	return state{exists: true, value: value, revision: revision, floor: max(s.floor, revision)}
}

func (s state) deleted(at int64) state { return state{floor: max(s.floor, at)} }

// step returns the states in which a key can be after an operation; none if the operation
// cannot have had its outcome.
func step(s state, o Operation) []state {
	switch o.Outcome {
	case Unknown:
		return append([]state{s}, effects(s, o)...)
	case Done:
		return effects(s, o)
	case Exists:
		return when(s.exists, s)
	case NotFound:
		return when(!s.exists, s)
	case Conflict:
		return when(s.isNotAt(o.Expected), s)
	}
	return nil
}

// effects returns the states in which a key can be after an operation that was made.
func effects(s state, o Operation) []state {
	switch o.Verb {
	case Get, List:
		return when(s.isAt(o.Revision) && s.value == o.Value, s.written(o.Value, o.Revision))
	case Create:
		return when(!s.exists && s.precedes(o.Revision), s.written(o.Value, o.Revision))
	case Update:
		after := s.written(o.Value, o.Revision)
		after.floor = max(after.floor, o.Expected)
		return when(s.isAt(o.Expected) && (o.Revision == 0 || o.Revision > o.Expected), after)
	case Delete:
		return when(s.isAt(o.Expected), s.deleted(o.Expected))
	}
	return nil
}

// precedes reports whether a write may have a revision; 0 is one that is not known.
func (s state) precedes(revision int64) bool { return revision == 0 || revision > s.floor }

func when(possible bool, s state) []state {
	if possible {
		return []state{s}
	}
	return nil
}

// newModel returns the model of one object for porcupine, partitioned by key. The input is
// the operation; there is no separate output.
func newModel() porcupine.Model {
	model := porcupine.NondeterministicModel{
		Partition: byKey,
		Init:      func() []any { return []any{state{}} },
		Step: func(s, input, _ any) []any {
			var next []any
			for _, n := range step(s.(state), input.(Operation)) {
				next = append(next, n)
			}
			return next
		},
		DescribeOperation: func(input, _ any) string { return input.(Operation).String() },
		DescribeState:     func(s any) string { return s.(state).String() },
	}
	return model.ToModel()
}

func byKey(history []porcupine.Operation) [][]porcupine.Operation {
	at := map[string]int{}
	var parts [][]porcupine.Operation
	for _, o := range history {
		key := o.Input.(Operation).Key
		i, known := at[key]
		if !known {
			i = len(parts)
			at[key], parts = i, append(parts, nil)
		}
		parts[i] = append(parts[i], o)
	}
	return parts
}
