package quantityguard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// InJSON returns an error that names the first quantity beyond the limits in a JSON document that is
// to be decoded to one of these types of the API. Of a key that occurs twice it looks at both values,
// which a decoder parses one after the other. Invalid JSON is left to the decoder.
func InJSON(data []byte, types ...reflect.Type) error {
	for _, t := range types {
		w := walk{json.NewDecoder(bytes.NewReader(data))}
		w.decoder.UseNumber()
		if found := (*beyondError)(nil); errors.As(w.value(t, nil), &found) {
			return found
		}
	}
	return nil
}

// beyondError reports a quantity beyond the limits.
type beyondError struct{ at *field.Path }

func (e *beyondError) Error() string {
	return e.at.String() + ": " + Limits
}

// walk reads a document.
type walk struct {
	decoder *json.Decoder
}

// value reads a value of a type. It returns a beyondError, or the error of a document that is not JSON.
func (w walk) value(t reflect.Type, at *field.Path) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	token, err := w.decoder.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
		return w.object(t, at)
	case json.Delim('['):
		return w.list(t, at)
	}
	if t == quantityType && Beyond(fmt.Sprint(token)) {
		return &beyondError{at}
	}
	return nil
}

func (w walk) object(t reflect.Type, at *field.Path) error {
	for w.decoder.More() {
		token, err := w.decoder.Token()
		if err != nil {
			return err
		}
		key, ok := token.(string)
		if !ok {
			return errors.New("a key is no string")
		}
		var inner reflect.Type
		path := at.Child(key)
		switch {
		case t.Kind() == reflect.Map:
			inner, path = t.Elem(), at.Key(key)
		case t.Kind() == reflect.Struct && t != quantityType:
			inner = fieldsOf(t).byName[key]
		}
		if err := w.inner(inner, path); err != nil {
			return err
		}
	}
	_, err := w.decoder.Token() // the end
	return err
}

func (w walk) list(t reflect.Type, at *field.Path) error {
	var inner reflect.Type
	if t.Kind() == reflect.Slice {
		inner = t.Elem()
	}
	for i := 0; w.decoder.More(); i++ {
		if err := w.inner(inner, at.Index(i)); err != nil {
			return err
		}
	}
	_, err := w.decoder.Token() // the end
	return err
}

// inner reads a value within another one. A nil type means that the value cannot have quantities.
func (w walk) inner(t reflect.Type, at *field.Path) error {
	if t == nil {
		var skipped json.RawMessage
		return w.decoder.Decode(&skipped)
	}
	return w.value(t, at)
}
