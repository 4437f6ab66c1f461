package identity

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/durable"
)

// tokenKeyIn returns the key that signs the tokens of service accounts, in a directory, and creates
// it if there is none. As with kubeadm, sa.key has the private key and sa.pub the public one, so that
// a kube-apiserver can use both.
func tokenKeyIn(dir string) (*auth.TokenKey, error) {
	private := filepath.Join(dir, "sa.key")
	key, err := readTokenKey(private)
	if err == nil && key == nil {
		if key, err = auth.NewTokenKey(); err == nil {
			err = writeTokenKey(private, key)
		}
	}
	if err != nil {
		return nil, err
	}
	return key, writePublicKey(filepath.Join(dir, "sa.pub"), key)
}

// readTokenKey reads the key from a file; nil if the file does not exist. A file that
// kube-apiserver does not read as --service-account-key-file, as earlier releases wrote it,
// is replaced with one that it reads.
func readTokenKey(path string) (*auth.TokenKey, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the key of service account tokens: %w", err)
	}
	key, err := auth.LoadTokenKey(data)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be used (without it, a new key is made): %w", path, err)
	}
	if _, err := auth.LoadPublicTokenKeys(data); err != nil {
		return key, writeTokenKey(path, key)
	}
	return key, nil
}

func writeTokenKey(path string, key *auth.TokenKey) error {
	data, err := key.PEM()
	if err != nil {
		return err
	}
	if err := durable.WriteFile(path, data, 0o600); err != nil {
		return fmt.Errorf("writing the key of service account tokens: %w", err)
	}
	return nil
}

// writePublicKey writes the public half of the key unless the file has it.
func writePublicKey(path string, key *auth.TokenKey) error {
	data, err := key.PublicPEM()
	if err != nil {
		return err
	}
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
		return nil
	}
	if err := durable.WriteFile(path, data, 0o600); err != nil { // as kubeadm does
		return fmt.Errorf("writing the public key of service account tokens: %w", err)
	}
	return nil
}
