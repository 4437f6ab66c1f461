package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/store"
)

// Check reads all of a snapshot, or of the data directory of a stopped cluster or
// etcd, and reports the damaged parts, down to the stored objects. It changes nothing. The
// error is for a path that cannot be checked.
func Check(path string) (*store.CheckReport, error) {
	value, err := apiserver.NewStoredCheck()
	if err != nil {
		return nil, err
	}
	return store.Check(etcdFiles(path), store.CheckOptions{Value: value})
}

// Repair makes a new data directory from the readable parts of a damaged snapshot or
// data directory, which is not changed. The certificates of a data directory are copied.
func Repair(ctx context.Context, path, dataDir string) (*store.RepairReport, error) {
	value, err := apiserver.NewStoredCheck()
	if err != nil {
		return nil, err
	}
	certificates := filepath.Join(dataDir, "pki")
	if _, err := os.Stat(certificates); err == nil {
		return nil, fmt.Errorf("%s has certificates already: repair to a new directory", dataDir)
	}
	report, err := store.Repair(ctx, store.RepairOptions{Path: etcdFiles(path), DataDir: etcdDir(dataDir), Value: value})
	if err != nil || etcdFiles(path) == path {
		return report, err
	}
	if err := copyPrivate(certificates, filepath.Join(path, "pki")); err != nil {
		return report, fmt.Errorf("copying the certificates: %w", err)
	}
	return report, nil
}

// copyPrivate copies the files of a directory, if it exists, to a new one that only this user
// can read.
func copyPrivate(to, from string) error {
	entries, err := os.ReadDir(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(from, entry.Name()))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, entry.Name()), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// etcdFiles returns the directory of etcd in a data directory of minikcm, and any other path
// as it is.
func etcdFiles(path string) string {
	if _, err := os.Stat(filepath.Join(etcdDir(path), "member")); err == nil {
		return etcdDir(path)
	}
	return path
}

// adviseRepair adds advice to an error of a damaged data directory.
func adviseRepair(dataDir string, err error) error {
	if broken := (*store.DamagedError)(nil); dataDir == "" || !errors.As(err, &broken) {
		return err
	}
	return fmt.Errorf("%w; nothing was changed: \"minikcm etcd-snapshot check %s\" lists the damage, \"minikcm etcd-snapshot restore\" starts anew from a snapshot, and \"minikcm etcd-snapshot repair\" saves what is readable", err, dataDir)
}
