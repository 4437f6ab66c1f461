package authn

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"k8s.io/client-go/util/cert"

	"minikcm.dev/minikcm/apiserver/auth"
)

// maxFileBytes limits each file that New reads.
const maxFileBytes = 16 << 20

// readFile reads a file of at most maxFileBytes.
func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() // only read
	data, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("%s has more than %d bytes", path, maxFileBytes)
	}
	return data, nil
}

// authorities are the certificates of a file, and the file's content.
type authorities struct {
	certificates []*x509.Certificate
	pem          []byte
}

func readAuthorities(flag, path string) (authorities, error) {
	data, err := readFile(path)
	if err != nil {
		return authorities{}, fmt.Errorf("--%s: %w", flag, err)
	}
	certificates, err := cert.ParseCertsPEM(data)
	if err != nil {
		return authorities{}, fmt.Errorf("--%s: %s has no certificates that can be read: %w", flag, path, err)
	}
	return authorities{certificates, data}, nil
}

func (a *Authenticators) useCertificates(opts *Options) (err error) {
	if opts.ClientCAFile != "" {
		a.clients, err = readAuthorities("client-ca-file", opts.ClientCAFile)
	}
	return err
}

// proxyTrust is what servers behind this one need to know to trust its front proxy.
type proxyTrust struct {
	authorities
	headers RequestHeader
}

func (a *Authenticators) useFrontProxy(opts *Options) (err error) {
	h := opts.RequestHeader
	if h.ClientCAFile == "" {
		return nil
	}
	a.trusted.headers = h
	if a.trusted.authorities, err = readAuthorities("requestheader-client-ca-file", h.ClientCAFile); err != nil {
		return err
	}
	a.proxy, err = auth.NewFrontProxy(auth.FrontProxyOptions{
		Authorities: a.trusted.certificates, Names: h.AllowedNames,
		UserHeaders: h.UsernameHeaders, UIDHeaders: h.UIDHeaders, GroupHeaders: h.GroupHeaders, ExtraPrefixes: h.ExtraHeadersPrefix,
	})
	return err
}

// Trust returns the data of the ConfigMap kube-system/extension-apiserver-authentication, by
// which servers that delegate authentication to this one recognise its clients and its
// front proxy. own is the PEM of the cluster's own authority.
func (a *Authenticators) Trust(own []byte) (map[string]string, error) {
	if a == nil {
		return map[string]string{"client-ca-file": string(own)}, nil
	}
	data := map[string]string{"client-ca-file": string(bytes.Join([][]byte{own, a.clients.pem}, nil))}
	if a.proxy == nil {
		return data, nil
	}
	h := a.trusted.headers
	data["requestheader-client-ca-file"] = string(a.trusted.pem)
	lists := map[string][]string{
		"requestheader-username-headers": h.UsernameHeaders, "requestheader-group-headers": h.GroupHeaders,
		"requestheader-extra-headers-prefix": h.ExtraHeadersPrefix, "requestheader-allowed-names": h.AllowedNames,
	}
	if len(h.UIDHeaders) > 0 {
		lists["requestheader-uid-headers"] = h.UIDHeaders
	}
	for key, values := range lists {
		encoded, err := json.Marshal(append([]string{}, values...)) // an empty list is [], not null
		if err != nil {
			return nil, fmt.Errorf("encoding %s: %w", key, err)
		}
		data[key] = string(encoded)
	}
	return data, nil
}
