package ownership

import (
	"reflect"
	"strings"
	"sync"

	"minikcm.dev/minikcm/apiserver/internal/openapi"
)

// marks are the list and map types of a type or a field, from its markers.
type marks struct {
	list, mapped string
	keys         []string
}

// typeMarks are the marks of a type and of its fields by JSON name.
type typeMarks struct {
	self   marks
	fields map[string]marks
}

// markTable parses the table of markers, for list and map types only. It is parsed
// once, when the first plan is made.
var markTable = sync.OnceValue(func() map[string]*typeMarks {
	table := map[string]*typeMarks{
		// The table does not include apimachinery's types. These are the ones whose
		// tags are not sufficient.
		"k8s.io/apimachinery/pkg/apis/meta/v1.LabelSelector":  {self: marks{mapped: atomic}},
		"k8s.io/apimachinery/pkg/apis/meta/v1.OwnerReference": {self: marks{mapped: atomic}},
	}
	pkg := ""
	var current *typeMarks
	for line := range strings.SplitSeq(openapi.MarkersText(), "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) < 2:
		case strings.HasPrefix(line, "\t"):
			if m, ok := readMarks(words[1:]); ok {
				current.fields[words[0]] = m
			}
		case words[0] == "package":
			pkg = words[1]
		case words[0] == "type":
			self, _ := readMarks(words[2:])
			current = &typeMarks{self: self, fields: map[string]marks{}}
			table[pkg+"."+words[1]] = current
		}
	}
	return table
})

const (
	atomic  = "atomic"
	listSet = "set"
	listMap = "map"
)

func readMarks(words []string) (m marks, any bool) {
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "list":
			m.list, any = value, true
		case "map":
			m.mapped, any = value, true
		case "key":
			m.keys = append(m.keys, value)
		}
	}
	return m, any
}

func marksOf(t reflect.Type) *typeMarks {
	if m := markTable()[t.PkgPath()+"."+t.Name()]; m != nil {
		return m
	}
	return &typeMarks{}
}

// marksOfField returns the marks of a field: from its markers or, like schemas derived
// from OpenAPI, from the tags for strategic merge patches.
func marksOfField(owner *typeMarks, name string, tag reflect.StructTag) marks {
	m := owner.fields[name]
	if m.list != "" {
		return m
	}
	switch tag.Get("patchStrategy") {
	case "merge", "merge,retainKeys":
		if key := tag.Get("patchMergeKey"); key != "" {
			m.list, m.keys = listMap, []string{key}
		} else {
			m.list = listSet
		}
	}
	return m
}
