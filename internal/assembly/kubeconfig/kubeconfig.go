package kubeconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/internal/auth"
)

// ContextName is the name of the cluster, the context and the user in the kubeconfigs that
// clusters write.
const ContextName = "minikcm"

// Extension is the name of the extension that marks a cluster in a kubeconfig as one of minikcm:
// {"version": VERSION}.
const Extension = "minikcm.dev"

// Server is the server that kubeconfigs lead to.
type Server struct {
	Address string
	// CAs are the authorities, in PEM, of the server's certificate, and ClientCA signs the
	// certificates of clients.
	CAs      []byte
	ClientCA *auth.Authority
	// Version is the version of minikcm.
	Version string
}

// For returns a kubeconfig with a client certificate for a user.
func (s *Server) For(user string, groups ...string) ([]byte, error) {
	client, err := s.ClientCA.Client(user, groups...)
	if err != nil {
		return nil, err
	}
	key, err := client.KeyPEM()
	if err != nil {
		return nil, err
	}
	extension, err := json.Marshal(map[string]string{"version": s.Version})
	if err != nil {
		return nil, fmt.Errorf("encoding the kubeconfig: %w", err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[ContextName] = &clientcmdapi.Cluster{
		Server:                   "https://" + s.Address,
		CertificateAuthorityData: s.CAs,
		Extensions:               map[string]runtime.Object{Extension: &runtime.Unknown{Raw: extension, ContentType: runtime.ContentTypeJSON}},
	}
	config.AuthInfos[ContextName] = &clientcmdapi.AuthInfo{ClientCertificateData: client.CertPEM(), ClientKeyData: key}
	config.Contexts[ContextName] = &clientcmdapi.Context{Cluster: ContextName, AuthInfo: ContextName}
	config.CurrentContext = ContextName
	data, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("encoding the kubeconfig: %w", err)
	}
	return data, nil
}

// File is the file of a kubeconfig; nil if there is none.
type File struct {
	path    string
	content []byte
}

// Write writes a kubeconfig to a path.
func Write(path string, kubeconfig []byte) (*File, error) {
	content, err := encodedFor(path, kubeconfig)
	if err != nil {
		return nil, err
	}
	if err := write(path, content); err != nil {
		return nil, err
	}
	return &File{path, content}, nil
}

// encodedFor returns a kubeconfig as a file with the path contains it: in JSON if the name ends
// in .json, for programs that cannot read YAML.
func encodedFor(path string, kubeconfig []byte) ([]byte, error) {
	if filepath.Ext(path) != ".json" {
		return kubeconfig, nil
	}
	data, err := yaml.YAMLToJSON(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("encoding the kubeconfig: %w", err)
	}
	return data, nil
}

// write writes the file atomically. It overwrites only a kubeconfig that minikcm
// has written.
func write(path string, data []byte) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file: choose another path for the kubeconfig", path)
	}
	old, err := clientcmd.LoadFromFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s cannot be read: choose another path for the kubeconfig: %w", path, err)
	case err != nil:
		return fmt.Errorf("%s exists and is not a kubeconfig: choose another path for it: %w", path, err)
	case len(old.Contexts) != 0 && (len(old.Contexts) > 1 || old.Contexts[ContextName] == nil):
		return fmt.Errorf("%s holds contexts that are not minikcm's: choose another path for the kubeconfig", path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("making the kubeconfig's directory: %w", err)
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), ".kubeconfig-*")
	if err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	_, writeErr := temporary.Write(data)
	if err := errors.Join(writeErr, temporary.Close()); err != nil {
		return errors.Join(fmt.Errorf("writing the kubeconfig: %w", err), os.Remove(temporary.Name()))
	}
	if err := os.Rename(temporary.Name(), path); err != nil {
		return errors.Join(fmt.Errorf("writing the kubeconfig: %w", err), os.Remove(temporary.Name()))
	}
	return nil
}

// Remove removes the file unless it has changed since it was written.
func (f *File) Remove() error {
	if f == nil {
		return nil
	}
	data, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && !bytes.Equal(data, f.content)) {
		return nil
	}
	if err == nil {
		err = os.Remove(f.path)
	}
	if err != nil {
		return fmt.Errorf("removing the kubeconfig: %w", err)
	}
	return nil
}

// Client returns the client configuration of a kubeconfig, without a rate limit.
func Client(kubeconfig []byte) (*rest.Config, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.QPS = -1
	return config, nil
}
