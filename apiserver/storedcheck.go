package apiserver

import (
	"fmt"
	"path"
	"strings"

	"minikcm.dev/minikcm/apiserver/internal/codec"
)

// NewStoredCheck returns a function that returns the damage of a value that an API server has
// stored under a key of etcd, or nil. The error names the object as far as it is readable.
func NewStoredCheck() (func(key string, value []byte) error, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	decoder := codec.NewDecoder(scheme)
	return func(key string, value []byte) error {
		if !strings.HasPrefix(key, "/registry/") {
			return nil // other programs may use the same etcd
		}
		stored, err := decoder.InspectStored(scheme, value)
		if err == nil && stored.Name != "" && stored.Name != path.Base(key) {
			err = fmt.Errorf("its name is %q", stored.Name)
		}
		if name := storedName(stored); err != nil && name != "" {
			return fmt.Errorf("%s: %w", name, err)
		}
		return err
	}, nil
}

// storedName formats the known parts of an object's identity.
func storedName(s codec.Stored) string {
	return strings.TrimSpace(s.Kind.Kind + " " + strings.Trim(s.Namespace+"/"+s.Name, "/"))
}
