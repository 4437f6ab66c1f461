package releases

import (
	_ "embed"
	"strings"
	"sync"
)

// fieldsText has a line for each field that not all releases have: its type, its name, and the releases
// that have it. The types have the names of OpenAPI definitions without "io.k8s.".
//
//go:embed fields.txt
var fieldsText string

// Field is a field of an API type, by the name of its OpenAPI definition without "io.k8s.".
type Field struct{ Type, Name string }

var fieldSpans = sync.OnceValue(func() map[Field]spans {
	all := map[Field]spans{}
	for line := range strings.Lines(fieldsText) {
		words := strings.Fields(line)
		all[Field{words[0], words[1]}] = parseSpans(words[2])
	}
	return all
})

// Lacks returns the fields of the newest release's types that the release does not have.
func (m Minor) Lacks() []Field {
	var missing []Field
	if m == Newest {
		return nil
	}
	for field, s := range fieldSpans() {
		if !s[m-Oldest] {
			missing = append(missing, field)
		}
	}
	return missing
}
