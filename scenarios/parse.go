package scenarios

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
)

// Defaults of a scenario's fields.
const (
	defaultNodes   = 3
	defaultTimeout = 10 * time.Minute
	defaultWithin  = time.Minute
)

// Load reads the scenarios of a file and checks them. Errors name the file, the line
// and what to do.
func Load(path string) ([]*Scenario, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the scenario: %w", err)
	}
	return Parse(path, data)
}

// Parse reads scenarios from data, whose relative paths are from file's directory.
func Parse(file string, data []byte) ([]*Scenario, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var found []*Scenario
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		s := &Scenario{File: file}
		if err := decodeKnown(document.Content[0], s); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if err := s.check(document.Content[0].Line); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if slices.ContainsFunc(found, func(other *Scenario) bool { return other.Metadata.Name == s.Metadata.Name }) {
			return nil, fmt.Errorf("%s: %w", file, at(document.Content[0].Line, "there are two scenarios called %s", s.Metadata.Name))
		}
		found = append(found, s)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: there is no scenario in it", file)
	}
	return found, nil
}

// decodeKnown decodes a mapping into a struct and refuses fields that the struct
// does not have, with the line and the fields that there are.
func decodeKnown(node *yaml.Node, into any) error {
	if node.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: this must be a mapping of fields", node.Line)
	}
	if err := checkKeys(node, reflect.TypeOf(into).Elem()); err != nil {
		return err
	}
	if err := node.Decode(into); err != nil {
		return plainError(err)
	}
	return nil
}

// checkKeys looks for unknown and repeated keys in node, and in the mappings beneath
// that become structs too.
func checkKeys(node *yaml.Node, t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case node.ShortTag() == "!!float" && (t.Kind() == reflect.Int || t.Kind() == reflect.Uint64):
		return fmt.Errorf("line %d: found %s, wanted a whole number", node.Line, node.Value) // it would be cut off
	case node.Kind == yaml.SequenceNode && t.Kind() == reflect.Slice:
		for _, item := range node.Content {
			if item.ShortTag() == "!!null" {
				return fmt.Errorf("line %d: an item of the list is empty: remove it", item.Line)
			}
			if err := checkKeys(item, t.Elem()); err != nil {
				return err
			}
		}
		return nil
	case node.Kind != yaml.MappingNode || t.Kind() != reflect.Struct || t == reflect.TypeFor[Object]():
		return nil
	}
	fields := fieldsOf(t)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		field, known := fields[key.Value]
		if !known {
			return fmt.Errorf("line %d: unknown field %q; known here: %s", key.Line, key.Value, strings.Join(sortedKeys(fields), ", "))
		}
		if err := checkKeys(node.Content[i+1], field); err != nil {
			return err
		}
	}
	return nil
}

func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		if name != "" && name != "-" {
			fields[name] = t.Field(i).Type
		}
	}
	return fields
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

var foundType = strings.NewReplacer("!!seq", "a list", "!!map", "a mapping", "!!str", "the text", "!!int ", "", "!!float ", "", "!!bool ", "")

var goType = regexp.MustCompile(`cannot unmarshal (.*) into (.*)`)

// plainError says a decoding error without the names of Go types.
func plainError(err error) error {
	var typeError *yaml.TypeError
	if !errors.As(err, &typeError) {
		return err
	}
	for i, text := range typeError.Errors {
		typeError.Errors[i] = goType.ReplaceAllStringFunc(text, func(match string) string {
			parts := goType.FindStringSubmatch(match)
			return "found " + foundType.Replace(parts[1]) + ", wanted " + plainType(parts[2])
		})
	}
	return errors.New(strings.Join(typeError.Errors, "; "))
}

func plainType(name string) string {
	switch {
	case strings.HasPrefix(name, "[]"):
		return "a list"
	case strings.HasPrefix(name, "map"), strings.HasPrefix(name, "scenarios."):
		return "a mapping"
	case strings.HasPrefix(name, "uint"):
		return "a whole number of at least 0"
	case strings.Contains(name, "int"):
		return "a whole number"
	case name == "bool":
		return "true or false"
	}
	return "a " + name
}

// at prefixes an error with a line.
func at(line int, format string, args ...any) error {
	return fmt.Errorf("line %d: "+format, append([]any{line}, args...)...)
}

// check completes a scenario and refuses what cannot work.
func (s *Scenario) check(line int) error {
	switch {
	case s.APIVersion != APIVersion:
		return at(line, "apiVersion is %q, but must be %s", s.APIVersion, APIVersion)
	case s.Kind != Kind:
		return at(line, "kind is %q, but must be %s", s.Kind, Kind)
	case s.Metadata.Name == "":
		return at(line, "metadata.name is missing")
	case len(s.Spec.Steps) == 0:
		return at(line, "spec.steps is empty: say what to do")
	}
	if wrong := validation.IsDNS1123Subdomain(s.Metadata.Name); len(wrong) > 0 {
		return at(line, "metadata.name %q is not a name: write lower case letters, digits and '-', such as pod-kill", s.Metadata.Name)
	}
	spec := &s.Spec
	if spec.Timeout == 0 {
		spec.Timeout = Duration(defaultTimeout)
	}
	if err := spec.Cluster.check(); err != nil {
		return at(line, "spec.cluster%w", err)
	}
	for i := range spec.Steps {
		if err := spec.Steps[i].check(filepath.Dir(s.File)); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return nil
}

func (c *Cluster) check() error {
	if c.Nodes == nil {
		c.Nodes = ptr.To(defaultNodes)
	}
	if *c.Nodes < 0 {
		return fmt.Errorf(".nodes must not be negative: %d", *c.Nodes)
	}
	c.Clock = cmp.Or(c.Clock, string(clock.ModeVirtual))
	if _, _, err := clock.ParseMode(c.Clock); err != nil {
		return fmt.Errorf(".clock: %w", err)
	}
	options := minikcm.Options{Controllers: c.Controllers}
	if err := options.Validate(); err != nil {
		return fmt.Errorf(".controllers: %w", err)
	}
	return nil
}

func (s *Step) check(dir string) error {
	var kinds []string
	var err error
	if s.Apply != nil {
		kinds, err = append(kinds, "apply"), s.Apply.check(s.line, dir)
	}
	if s.Wait != nil {
		kinds, err = append(kinds, "wait"), errors.Join(err, s.Wait.check(s.line))
	}
	if s.Kill != nil {
		kinds, err = append(kinds, "kill"), errors.Join(err, s.Kill.check(s.line))
	}
	if s.Expect != nil {
		kinds, err = append(kinds, "expect"), errors.Join(err, s.Expect.check(s.line))
	}
	switch len(kinds) {
	case 0:
		return at(s.line, "a step needs one of apply, wait, kill, expect")
	case 1:
		return err
	}
	return at(s.line, "a step does one thing, but this has %s: make them steps of their own", strings.Join(kinds, " and "))
}
