package store

import (
	"errors"
	"fmt"

	etcdversion "go.etcd.io/etcd/api/v3/version"
	"k8s.io/apimachinery/pkg/util/version"
)

// NewerError is returned for a data directory or a snapshot of a later minor version of etcd
// than the embedded one, which cannot start on it. Nothing in it has been changed.
type NewerError struct {
	// Part is "snapshot" or "data directory", and Path is its file or directory.
	Part, Path string
	// Version is the version of its database's schema, for example 3.8.0.
	Version string
}

func (e *NewerError) Error() string {
	own := version.MustParseGeneric(etcdversion.Version)
	return fmt.Sprintf("the %s %s has the format of etcd %s, which the etcd %s of this minikcm does not read: use a newer minikcm, or run \"etcdctl downgrade enable %d.%d\" on the cluster that it comes from and take a new snapshot",
		e.Part, e.Path, e.Version, etcdversion.Version, own.Major(), own.Minor())
}

// notNewer returns a NewerError if the schema's version is later than the embedded etcd's. Before
// 3.6, databases have no version.
func notNewer(part, path, schema string) error {
	if schema == "" {
		return nil
	}
	newer, err := isNewer(schema)
	if err != nil {
		return damaged(part, path, err)
	}
	if newer {
		return &NewerError{Part: part, Path: path, Version: schema}
	}
	return nil
}

// isNewer reports whether the minor version of a schema is later than the embedded etcd's. Patch
// releases share a schema.
func isNewer(schema string) (bool, error) {
	v, err := version.ParseSemantic(schema)
	if err != nil {
		return false, fmt.Errorf("the version of its schema is no version: %w", err)
	}
	own := version.MustParseGeneric(etcdversion.Version)
	return v.Major() > own.Major() || v.Major() == own.Major() && v.Minor() > own.Minor(), nil
}

// unknownError reports a bucket or a setting that the embedded etcd does not have. In the
// database of a newer etcd, it is no damage.
type unknownError struct{ what, name string }

func (e *unknownError) Error() string { return fmt.Sprintf("etcd has no %s %q", e.what, e.name) }

func isUnknown(err error) bool {
	unknown := (*unknownError)(nil)
	return errors.As(err, &unknown)
}
