package servers

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// fieldError is an error in a field of a description, such as listen[0].routes[2].body.
type fieldError struct {
	path string
	err  error
}

func (e *fieldError) Error() string { return e.path + ": " + e.err.Error() }
func (e *fieldError) Unwrap() error { return e.err }

// in says in which field of an object err is.
func in(name string, err error) error {
	inner, ok := err.(*fieldError) // a wrapped one is part of a sentence
	switch {
	case !ok:
		return &fieldError{name, err}
	case strings.HasPrefix(inner.path, "["):
		return &fieldError{name + inner.path, inner.err}
	}
	return &fieldError{name + "." + inner.path, inner.err}
}

// lineError is an error at a line of a text.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }
func (e *lineError) Unwrap() error { return e.err }

func atLine(node *yaml.Node, err error) error { return &lineError{node.Line, err} }

// FieldOf returns the field of a description in which an error of Parse is, and what is wrong there, without a line of the text. path is
// empty if the error is not in one field.
func FieldOf(err error) (path string, why error) {
	var field *fieldError
	if errors.As(err, &field) {
		path, err = field.path, field.err
	}
	var line *lineError
	if errors.As(err, &line) {
		err = line.err
	}
	return path, err
}

// The errors of the YAML decoder that name a line, and types of ours.
var (
	decodeError  = regexp.MustCompile(`^line (\d+): (.*)$`)
	unknownField = regexp.MustCompile(`^field (.+) not found in type `)
	wrongType    = regexp.MustCompile("^cannot unmarshal (!!\\w+)(?: `.*`)? into ")
)

// located returns the first error of the YAML decoder, with its field.
func located(text string, err error) error {
	var wrong *yaml.TypeError
	if !errors.As(err, &wrong) {
		return errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	found := decodeError.FindStringSubmatch(wrong.Errors[0])
	var document yaml.Node
	if found == nil || yaml.Unmarshal([]byte(text), &document) != nil || len(document.Content) == 0 {
		return errors.New(wrong.Errors[0])
	}
	line, _ := strconv.Atoi(found[1]) // digits
	why, is := found[2], func(_, value *yaml.Node) bool { return value.Line == line }
	if field := unknownField.FindStringSubmatch(why); field != nil {
		why, is = "there is no such field", func(key, _ *yaml.Node) bool { return key != nil && key.Line == line && key.Value == field[1] }
	} else if tag := wrongType.FindStringSubmatch(why); tag != nil {
		why = "it has the wrong type: " + kinds[tag[1]]
		is = func(_, value *yaml.Node) bool { return value.Line == line && value.ShortTag() == tag[1] }
	}
	err = &lineError{line, errors.New(strings.TrimSpace(why))}
	if path, ok := pathTo(document.Content[0], is); ok && path != "" {
		err = &fieldError{path, err}
	}
	return err
}

// kinds are words for the tags of YAML.
var kinds = map[string]string{
	"!!str": "a text", "!!int": "a number", "!!float": "a number", "!!bool": "true or false", "!!seq": "a list", "!!map": "a map", "!!null": "nothing",
}

// pathTo returns the field of the first value beneath a node, in the order of the text, that is the wanted one. Values in lists have no
// key.
func pathTo(node *yaml.Node, is func(key, value *yaml.Node) bool) (path string, ok bool) {
	for i := 0; i < len(node.Content); i++ {
		name, key, value := fmt.Sprintf("[%d]", i), (*yaml.Node)(nil), node.Content[i]
		if node.Kind == yaml.MappingNode {
			if i++; i == len(node.Content) {
				break
			}
			key, value = value, node.Content[i]
			name = key.Value
		}
		if is(key, value) {
			return name, true
		}
		if inner, ok := pathTo(value, is); ok {
			if !strings.HasPrefix(inner, "[") {
				inner = "." + inner
			}
			return name + inner, true
		}
	}
	return "", false
}
