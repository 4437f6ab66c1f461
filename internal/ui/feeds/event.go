package feeds

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// event is an event of a watch, as the API server encoded it.
type event struct {
	// version is the object's resourceVersion. uid is empty for a bookmark.
	version uint64
	uid     string
	// failed means that the API server ends the watch with a Status.
	failed bool
	// line is the event without its line feed.
	line []byte
}

var (
	errNoEvent   = errors.New("the line is no event of a watch")
	errNoVersion = errors.New("an event has no resourceVersion that is a number")
)

// parseEvent reads the fields of a line that the feed needs. An encoder writes the fields of a
// small depth before the large ones, so that most of the line is not looked at.
func parseEvent(line []byte) (*event, error) {
	d := json.NewDecoder(bytes.NewReader(line))
	e := &event{line: line}
	kind, version := "", ""
	err := fields(d, func(name string) (bool, error) {
		switch name {
		case "type":
			err := d.Decode(&kind)
			return kind == "ERROR", err
		case "object":
			return true, fields(d, func(name string) (bool, error) {
				if name != "metadata" {
					return false, skip(d)
				}
				return true, fields(d, func(name string) (bool, error) { return e.readMeta(d, name, &version) })
			})
		}
		return false, skip(d)
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading an event of a watch: %w", err)
	case kind == "ERROR":
		e.failed = true
		return e, nil
	case kind == "":
		return nil, errNoEvent
	}
	if e.version, err = strconv.ParseUint(version, 10, 64); err != nil {
		return nil, errNoVersion
	}
	return e, nil
}

// readMeta reads a field of an object's metadata, and reports whether no more are needed.
func (e *event) readMeta(d *json.Decoder, name string, version *string) (bool, error) {
	var err error
	switch name {
	case "uid":
		err = d.Decode(&e.uid)
	case "resourceVersion":
		err = d.Decode(version)
	default:
		err = skip(d)
	}
	return e.uid != "" && *version != "", err
}

// fields calls read with the name of each field of the object that follows, until it returns true.
func fields(d *json.Decoder, read func(name string) (done bool, err error)) error {
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return errors.Join(err, errNoEvent)
	}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		name, ok := token.(string)
		if !ok {
			return errNoEvent
		}
		if done, err := read(name); done || err != nil {
			return err
		}
	}
	_, err := d.Token() // the end of the object
	return err
}

func skip(d *json.Decoder) error {
	var value json.RawMessage
	return d.Decode(&value)
}
