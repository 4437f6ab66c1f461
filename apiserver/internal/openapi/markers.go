package openapi

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// markersText is a line-based table:
//
//	package PATH                    starts the types of a package
//	enum TYPE VALUE...              the values of an enumeration, in quotes if they need them
//	type TYPE [map=M] [union] [default=JSON]
//	<tab>FIELD [optional|required] [discriminator] [list=L] [key=K]... [map=M] [default=JSON]
//
// A field is listed only if it says something that its json tag does not.
//
//go:embed markers.txt
var markersText string

// markers are the marker comments of the API types, by import path and type name
// ("k8s.io/api/core/v1.Pod").
type markers struct {
	enums map[string][]string
	types map[string]*typeMarker
}

type typeMarker struct {
	mapType  string
	union    bool
	fallback any
	fields   map[string]fieldMarker
}

type fieldMarker struct {
	optional, required bool
	discriminator      bool
	listType, mapType  string
	listKeys           []string
	fallback           any
}

// builtinMarkers parses the embedded table once. It panics if the table is invalid,
// which a test would have found.
var builtinMarkers = sync.OnceValue(func() *markers {
	m, err := parseMarkers(markersText)
	if err != nil {
		panic(err)
	}
	return m
})

func parseMarkers(text string) (*markers, error) {
	m := &markers{enums: map[string][]string{}, types: map[string]*typeMarker{}}
	pkg := ""
	var current *typeMarker
	for i, line := range strings.Split(text, "\n") {
		var err error
		switch words := strings.Fields(line); {
		case len(words) == 0 || words[0] == "#":
		case strings.HasPrefix(line, "\t"):
			if current == nil {
				return nil, fmt.Errorf("markers line %d: a field outside a type", i+1)
			}
			var f fieldMarker
			f, err = parseFieldMarker(words[1:])
			current.fields[words[0]] = f
		case words[0] == "package" && len(words) == 2:
			pkg, current = words[1], nil
		case words[0] == "enum" && len(words) > 2:
			m.enums[pkg+"."+words[1]], err = enumValues(strings.TrimPrefix(line, "enum "+words[1]))
		case words[0] == "type" && len(words) > 1:
			current, err = parseTypeMarker(words[2:])
			m.types[pkg+"."+words[1]] = current
		default:
			err = fmt.Errorf("unknown form %q", line)
		}
		if err != nil {
			return nil, fmt.Errorf("markers line %d: %w", i+1, err)
		}
	}
	return m, nil
}

func parseTypeMarker(words []string) (*typeMarker, error) {
	f, err := parseFieldMarker(slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "union" }))
	return &typeMarker{
		mapType:  f.mapType,
		union:    slices.Contains(words, "union"),
		fallback: f.fallback,
		fields:   map[string]fieldMarker{},
	}, err
}

func parseFieldMarker(words []string) (fieldMarker, error) {
	var f fieldMarker
	for i, word := range words {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "optional":
			f.optional = true
		case "required":
			f.required = true
		case "discriminator":
			f.discriminator = true
		case "list":
			f.listType = value
		case "map":
			f.mapType = value
		case "key":
			f.listKeys = append(f.listKeys, value)
		case "default":
			// The default is the last word and may contain spaces.
			raw := strings.Join(append([]string{value}, words[i+1:]...), " ")
			if err := json.Unmarshal([]byte(raw), &f.fallback); err != nil {
				return f, fmt.Errorf("reading default %s: %w", raw, err)
			}
			return f, nil
		default:
			return f, fmt.Errorf("unknown marker %q", word)
		}
	}
	return f, nil
}

// enumValues splits values at blanks that are not in quotes.
func enumValues(text string) (values []string, err error) {
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		if text[0] != '"' {
			value, rest, _ := strings.Cut(text, " ")
			values, text = append(values, value), rest
			continue
		}
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return nil, fmt.Errorf("reading the value %s: %w", text, err)
		}
		value, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, fmt.Errorf("reading the value %s: %w", quoted, err)
		}
		values, text = append(values, value), text[len(quoted):]
	}
	return values, nil
}

// of returns the markers of a type; it is never nil.
func (m *markers) of(typeName string) *typeMarker {
	if t := m.types[typeName]; t != nil {
		return t
	}
	return &typeMarker{}
}
