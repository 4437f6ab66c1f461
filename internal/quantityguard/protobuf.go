package quantityguard

import (
	"errors"
	"reflect"

	"google.golang.org/protobuf/encoding/protowire"
)

// InProtobuf is InJSON for a protobuf message, without its envelope.
func InProtobuf(message []byte, types ...reflect.Type) error {
	for _, t := range types {
		if inMessage(t, message) {
			return errors.New(Limits)
		}
	}
	return nil
}

// inMessage reports whether a message of a type has a quantity beyond the limits. A map is a list of
// messages whose field 1 is the key and field 2 the value.
func inMessage(of reflect.Type, message []byte) bool {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return false // it is left to the decoder
		}
		message = message[n:]
		if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
			return false
		}
		if kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(message)
			if inField(of, int(number), value) {
				return true
			}
		}
		message = message[n:]
	}
	return false
}

func inField(of reflect.Type, number int, value []byte) bool {
	switch {
	case of == quantityType:
		return number == 1 && Beyond(string(value))
	case of.Kind() == reflect.Map:
		return number == 2 && inMessage(of.Elem(), value)
	case of.Kind() == reflect.Struct:
		inner, known := fieldsOf(of).byNumber[number]
		return known && inMessage(inner, value)
	}
	return false
}
