package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"minikcm.dev/minikcm/internal/spell"
)

// The kind of the files of --config.
const (
	configAPIVersion = "minikcm.dev/v1alpha1"
	configKind       = "Cluster"
	// maxConfigFile caps the size of such a file, in bytes.
	maxConfigFile = 1 << 20
)

// applyConfigFile sets the flags of a command that were not given, from a file. An empty path is none.
//
// The fields of spec are the flags in camel case. A flag that can be repeated takes a list; an element
// that is an object means its fields as NAME=VALUE, separated by commas, as --pool has them.
func applyConfigFile(cmd *cobra.Command, path string) error {
	if path == "" {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	defer file.Close() // read only
	data, err := readAtMost(file, maxConfigFile)
	if err != nil {
		return fmt.Errorf("--config %s: %w", path, err)
	}
	c := &configFile{path: path, flags: cmd.Flags(), given: map[string]bool{}}
	cmd.Flags().Visit(func(flag *pflag.Flag) { c.given[flag.Name] = true })
	return c.apply(data)
}

// configFile is a file of --config.
type configFile struct {
	path  string
	flags *pflag.FlagSet
	// given are the flags on the command line, which come before the file.
	given map[string]bool
}

// problem returns an error about a node of the file.
func (c *configFile) problem(at *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", c.path, at.Line, fmt.Sprintf(format, args...))
}

func (c *configFile) apply(data []byte) error {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, second yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: is empty; \"minikcm up --help\" has an example", c.path)
	} else if err != nil {
		return fmt.Errorf("%s: is not YAML: %w", c.path, err)
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: has more than one document", c.path)
	}
	root := document.Content[0]
	want := []string{"apiVersion", "kind", "metadata", "spec"}
	err := c.fields(root, "", want, func(name string, value *yaml.Node) error {
		switch name {
		case "apiVersion", "kind":
			if expected := map[string]string{"apiVersion": configAPIVersion, "kind": configKind}[name]; value.Value != expected {
				return c.problem(value, "%s is %q, want %s", name, value.Value, expected)
			}
			return nil
		case "metadata":
			return c.fields(value, "metadata.", []string{"name"}, func(_ string, value *yaml.Node) error { return c.set("metadata.name", "name", value) })
		}
		return c.fields(value, "spec.", c.known(), func(name string, value *yaml.Node) error { return c.set("spec."+name, flagName(name), value) })
	})
	if err != nil {
		return err
	}
	for _, name := range want[:2] {
		if !slices.ContainsFunc(root.Content, func(n *yaml.Node) bool { return n.Value == name }) {
			return c.problem(root, "%s is missing: it is %s of %s", name, configKind, configAPIVersion)
		}
	}
	return nil
}

// known returns the fields of spec.
func (c *configFile) known() []string {
	var names []string
	c.flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Name != "config" && flag.Name != "help" && flag.Name != "name" {
			names = append(names, fieldName(flag.Name))
		}
	})
	return names
}

// fieldName is the name of a flag's field: startDelay for start-delay. It is the inverse of flagName.
func fieldName(flag string) string {
	var name strings.Builder
	upper := false
	for _, r := range flag {
		switch {
		case r == '-':
			upper = true
		case upper:
			name.WriteRune(unicode.ToUpper(r))
			upper = false
		default:
			name.WriteRune(r)
		}
	}
	return name.String()
}

// fields calls set for each field of an object, whose names must be known and occur once.
func (c *configFile) fields(object *yaml.Node, prefix string, known []string, set func(name string, value *yaml.Node) error) error {
	if object.Kind != yaml.MappingNode {
		return c.problem(object, "%s is not an object", cmp.Or(strings.TrimSuffix(prefix, "."), "the document"))
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(object.Content); i += 2 {
		key, value := object.Content[i], object.Content[i+1]
		if !slices.Contains(known, key.Value) {
			hint := ""
			if meant := spell.Nearest(key.Value, known); meant != "" {
				hint = fmt.Sprintf("; did you mean %s?", meant)
			}
			return c.problem(key, "unknown field %s%s%s", prefix, key.Value, hint)
		}
		if seen[key.Value] {
			return c.problem(key, "the field %s%s occurs twice", prefix, key.Value)
		}
		seen[key.Value] = true
		if err := set(key.Value, value); err != nil {
			return err
		}
	}
	return nil
}

// set sets a flag to the value of a field, unless it is on the command line.
func (c *configFile) set(field, flag string, value *yaml.Node) error {
	if c.given[flag] {
		return nil
	}
	values := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		values = value.Content
		if !isRepeatable(c.flags.Lookup(flag)) {
			return c.problem(value, "%s is a list, but has one value", field)
		}
	}
	for _, one := range values {
		text, err := c.text(field, one)
		if err != nil {
			return err
		}
		if err := c.flags.Set(flag, text); err != nil {
			return c.problem(one, "%s: %v", field, badValue(err))
		}
	}
	return nil
}

// text returns a value as a flag has it.
func (c *configFile) text(field string, value *yaml.Node) (string, error) {
	switch {
	case value.Kind == yaml.ScalarNode && value.Tag != "!!null":
		return value.Value, nil
	case value.Kind == yaml.MappingNode:
		var parts []string
		for i := 0; i+1 < len(value.Content); i += 2 {
			key, one := value.Content[i], value.Content[i+1]
			all := []*yaml.Node{one}
			if one.Kind == yaml.SequenceNode {
				all = one.Content
			}
			for _, scalar := range all {
				if scalar.Kind != yaml.ScalarNode {
					return "", c.problem(scalar, "%s.%s is not a plain value", field, key.Value)
				}
				parts = append(parts, key.Value+"="+scalar.Value)
			}
		}
		return strings.Join(parts, ","), nil
	}
	return "", c.problem(value, "%s has no value", field)
}

// isRepeatable reports whether a flag can be given more than once.
func isRepeatable(flag *pflag.Flag) bool {
	_, list := flag.Value.(pflag.SliceValue)
	_, nodes := flag.Value.(*nodesFlag)
	return list || nodes || flag.Value.Type() == "stringToString"
}
