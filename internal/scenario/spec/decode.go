package spec

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"minikcm.dev/minikcm/internal/spell"
)

// decoder fills Go values from YAML, and collects what does not fit. It replaces variables first,
// so that the type of a value follows from the replaced text.
type decoder struct {
	file string
	// vars are the values of ${NAME}. A missing name is a problem.
	vars     map[string]string
	problems *Problems
	// including are the files that include this one, from the outermost on, and this one.
	including []string
	options   LoadOptions
	// lines has the line of each field that was read. checking says that reading is done.
	lines    map[string]int
	checking bool
	// literal says that ${NAME} is not replaced.
	literal bool
	// names are the names in the scenario as a whole.
	names *names
}

func (d *decoder) problem(line int, field, format string, args ...any) {
	if d.checking {
		line = d.lineOf(field, line)
	}
	*d.problems = append(*d.problems, Problem{File: d.file, Line: line, Field: field, Message: fmt.Sprintf(format, args...), follows: d.checking})
}

// lineOf returns the line of a field, or else of the nearest field around it.
func (d *decoder) lineOf(field string, otherwise int) int {
	for field != "" {
		if line, known := d.lines[field]; known {
			return line
		}
		field = field[:max(strings.LastIndexAny(field, ".["), 0)]
	}
	return otherwise
}

// isSet reports whether a field is written in the file.
func (d *decoder) isSet(field string) bool {
	_, written := d.lines[field]
	return written
}

// after returns the decoder for checking what d has read.
func (d *decoder) after() *decoder {
	checking := *d
	checking.checking = true
	return &checking
}

// with returns the decoder with more variables.
func (d *decoder) with(vars map[string]string) *decoder {
	more := *d
	more.vars = maps.Clone(d.vars)
	if more.vars == nil {
		more.vars = map[string]string{}
	}
	maps.Copy(more.vars, vars)
	return &more
}

var variable = regexp.MustCompile(`\$?\$\{[^}]*\}`)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// IsVariableName reports whether a variable may have this name.
func IsVariableName(name string) bool { return variableName.MatchString(name) }

// replace returns a scalar with the values of its variables; $${NAME} becomes ${NAME}.
func (d *decoder) replace(node *yaml.Node, field string) *yaml.Node {
	if d.literal || node.Kind != yaml.ScalarNode || !strings.Contains(node.Value, "${") {
		return node
	}
	text := variable.ReplaceAllStringFunc(node.Value, func(found string) string {
		if strings.HasPrefix(found, "$$") {
			return found[1:]
		}
		name := found[2 : len(found)-1]
		if value, set := d.vars[name]; set {
			return value
		}
		if !variableName.MatchString(name) {
			d.problem(node.Line, field, "%s is not a variable: write ${NAME}, or $%s to mean the text itself", found, found)
			return found
		}
		hint := "declare it in spec.vars, or give it by --set " + name + "=VALUE"
		if len(d.vars) > 0 {
			hint = DidYouMean(name, slices.Sorted(maps.Keys(d.vars))) + " Otherwise " + hint
		}
		d.problem(node.Line, field, "the variable %s is not set: %s", name, hint)
		return "0"
	})
	replaced := *node
	replaced.Value = text
	if node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
		replaced.Tag = "" // the new text decides the type
	}
	return &replaced
}

// bare removes the quotes of a replaced value if no text is wanted. Within {}, a variable
// must be quoted.
func bare(node *yaml.Node, wanted reflect.Type) *yaml.Node {
	if wanted.Kind() == reflect.Pointer {
		wanted = wanted.Elem()
	}
	switch wanted.Kind() {
	case reflect.Int, reflect.Uint64, reflect.Float64, reflect.Bool:
		node.Tag, node.Style = "", 0
	}
	return node
}

// replaceAll returns a copy of a tree with the values of its variables.
func (d *decoder) replaceAll(node *yaml.Node, field string) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	copied := *d.replace(node, field)
	copied.Anchor = ""
	copied.Content = make([]*yaml.Node, len(node.Content))
	for i, child := range node.Content {
		copied.Content[i] = d.replaceAll(child, field)
	}
	return &copied
}

// scalarReader is a struct that may be written as one scalar too.
type scalarReader interface{ readScalar(text string) error }

// nodeReader decodes itself.
type nodeReader interface {
	readNode(d *decoder, node *yaml.Node, field string)
}

// decode fills into, which must be settable.
func (d *decoder) decode(node *yaml.Node, field string, into reflect.Value) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if replaced := d.replace(node, field); replaced != node {
		node = bare(replaced, into.Type())
	}
	if d.lines != nil {
		d.lines[field] = node.Line
	}
	if into.Kind() == reflect.Pointer {
		if node.ShortTag() == "!!null" {
			return
		}
		into.Set(reflect.New(into.Type().Elem()))
		into = into.Elem()
	}
	if into.CanAddr() {
		switch self := into.Addr().Interface().(type) {
		case nodeReader:
			self.readNode(d, node, field)
			return
		case yaml.Unmarshaler:
			if err := self.UnmarshalYAML(d.replaceAll(node, field)); err != nil {
				d.decodingError(node, field, err)
			}
			return
		case scalarReader:
			if node.Kind == yaml.ScalarNode && node.ShortTag() != "!!null" {
				if err := self.readScalar(node.Value); err != nil {
					d.problem(node.Line, field, "%v", err)
				}
				return
			}
		}
	}
	switch into.Kind() {
	case reflect.Struct:
		d.structure(node, field, into)
	case reflect.Slice:
		d.list(node, field, into)
	case reflect.Map:
		d.mapping(node, field, into)
	case reflect.Interface:
		var value any
		if err := d.replaceAll(node, field).Decode(&value); err != nil {
			d.decodingError(node, field, err)
			return
		}
		if value = JSONValue(value); value != nil {
			into.Set(reflect.ValueOf(value))
		}
	default:
		d.scalar(node, field, into)
	}
}

func (d *decoder) wrong(node *yaml.Node, field, wanted string) {
	d.problem(node.Line, field, "found %s, wanted %s", found(node), wanted)
}

// found describes a node that is not what is wanted.
func found(node *yaml.Node) string {
	switch node.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "a mapping"
	}
	switch node.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!str":
		return fmt.Sprintf("the text %q", node.Value)
	}
	return node.Value
}

func (d *decoder) structure(node *yaml.Node, field string, into reflect.Value) {
	if node.Kind != yaml.MappingNode {
		d.wrong(node, field, "a mapping of fields")
		return
	}
	if line := into.FieldByName("Line"); line.IsValid() && line.Kind() == reflect.Int {
		line.SetInt(int64(node.Line))
	}
	if file := into.FieldByName("File"); file.IsValid() && isHidden(into.Type(), "File") {
		file.SetString(d.file)
	}
	fields := fieldsOf(into.Type())
	d.fields(node, field, slices.Sorted(maps.Keys(fields)), func(name string, value *yaml.Node) {
		d.decode(value, join(field, name), into.FieldByIndex(fields[name]))
	})
}

// fields calls each for every field of a mapping. A field that is written twice, or that is
// none of those known, is a problem.
func (d *decoder) fields(node *yaml.Node, field string, known []string, each func(name string, value *yaml.Node)) {
	seen := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if line, twice := seen[key.Value]; twice {
			d.problem(key.Line, join(field, key.Value), "is there already in line %d: leave one out", line)
			continue
		}
		seen[key.Value] = key.Line
		if slices.Contains(known, key.Value) {
			each(key.Value, value)
			continue
		}
		d.problem(key.Line, join(field, key.Value), "unknown field; %s", DidYouMean(key.Value, known))
		if meant := spell.Nearest(key.Value, known); meant != "" {
			(*d.problems)[len(*d.problems)-1].meant = join(field, meant)
		}
	}
}

func isHidden(t reflect.Type, name string) bool {
	field, ok := t.FieldByName(name)
	return ok && field.Tag.Get("yaml") == "-"
}

// fieldsOf are the fields of a struct, by the names they have in YAML.
func fieldsOf(t reflect.Type) map[string][]int {
	fields := map[string][]int{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case options == "inline":
			for inner, index := range fieldsOf(f.Type) {
				fields[inner] = append([]int{i}, index...)
			}
		case name != "" && name != "-" && f.IsExported():
			fields[name] = []int{i}
		}
	}
	return fields
}

func (d *decoder) list(node *yaml.Node, field string, into reflect.Value) {
	if node.ShortTag() == "!!null" {
		return
	}
	if node.Kind != yaml.SequenceNode {
		d.wrong(node, field, "a list")
		return
	}
	items := reflect.MakeSlice(into.Type(), len(node.Content), len(node.Content))
	for i, item := range node.Content {
		at := fmt.Sprintf("%s[%d]", field, i)
		if item.ShortTag() == "!!null" {
			d.problem(item.Line, at, "is empty: remove it")
			continue
		}
		d.decode(item, at, items.Index(i))
	}
	into.Set(items)
}

func (d *decoder) mapping(node *yaml.Node, field string, into reflect.Value) {
	if node.ShortTag() == "!!null" {
		return
	}
	if node.Kind != yaml.MappingNode {
		d.wrong(node, field, "a mapping")
		return
	}
	out := reflect.MakeMap(into.Type())
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := d.replace(node.Content[i], field)
		value := reflect.New(into.Type().Elem()).Elem()
		d.decode(node.Content[i+1], join(field, key.Value), value)
		out.SetMapIndex(reflect.ValueOf(key.Value).Convert(into.Type().Key()), value)
	}
	into.Set(out)
}

func (d *decoder) scalar(node *yaml.Node, field string, into reflect.Value) {
	kinds := map[reflect.Kind]string{reflect.String: "text", reflect.Bool: "true or false", reflect.Uint64: "a whole number of at least 0", reflect.Float64: "a number"}
	wanted, known := kinds[into.Kind()]
	if !known {
		wanted = "a whole number"
	}
	if node.Kind != yaml.ScalarNode {
		d.wrong(node, field, wanted)
		return
	}
	tag := node.ShortTag()
	switch {
	case tag == "!!null":
		return
	case into.Kind() == reflect.String:
		into.SetString(node.Value)
		return
	case into.Kind() == reflect.Bool && tag != "!!bool", wanted == "a whole number" && tag != "!!int",
		into.Kind() == reflect.Uint64 && tag != "!!int", into.Kind() == reflect.Float64 && tag != "!!int" && tag != "!!float":
		d.wrong(node, field, wanted)
		return
	}
	if err := node.Decode(into.Addr().Interface()); err != nil {
		d.wrong(node, field, wanted)
	}
}

var lineOfError = regexp.MustCompile(`^(?:yaml: )?line (\d+): `)

// decodingError reports the error of a type that decodes itself.
func (d *decoder) decodingError(node *yaml.Node, field string, err error) {
	var several *yaml.TypeError
	if errors.As(err, &several) && len(several.Errors) > 0 {
		for _, text := range several.Errors {
			d.decodingError(node, field, errors.New(text))
		}
		return
	}
	text, line := err.Error(), node.Line
	if match := lineOfError.FindStringSubmatch(text); match != nil {
		text = text[len(match[0]):]
		if n, err := strconv.Atoi(match[1]); err == nil {
			line = n
		}
	}
	d.problem(line, field, "%s", text)
}

func join(field, key string) string {
	if field == "" {
		return key
	}
	return field + "." + key
}
