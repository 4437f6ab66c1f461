package capacity

import (
	"strings"
	"testing"
)

// The words of a question are understood or refused, whatever they are.
func FuzzParseChanges(f *testing.F) {
	f.Add("scale deployment/web=5", "default")
	f.Add("remove node/a node/b", "")
	f.Add("drain node-1", "x")
	f.Fuzz(func(t *testing.T, words, namespace string) {
		if changes, err := ParseChanges(strings.Fields(words), namespace); err == nil && len(changes) == 0 {
			t.Errorf("%q means nothing", words)
		}
		if target, err := ParseTarget(words, namespace); err == nil && target == nil {
			t.Errorf("%q is no target and no error", words)
		}
	})
}
