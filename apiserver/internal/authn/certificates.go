package authn

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/client-go/util/cert"

	"minikcm.dev/minikcm/apiserver/internal/configfile"
	"minikcm.dev/minikcm/internal/auth"
)

// authorities are the certificates of a file, and the file's content.
type authorities struct {
	certificates []*x509.Certificate
	pem          []byte
}

func readAuthorities(flag, path string) (authorities, error) {
	data, err := configfile.Read(path)
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

// proxyTrust holds the authorities and headers by which servers behind this one trust its
// front proxy.
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
// which servers that delegate authentication to this one recognise its clients and front
// proxies. clients and proxies are the PEM of the cluster's own authorities; proxy is the
// name in the certificate that the API server shows to other servers.
func (a *Authenticators) Trust(clients, proxies []byte, proxy string) (map[string]string, error) {
	clients, proxies = joinPEM(clients), joinPEM(proxies)
	names, users, uids, groups, extras := []string{proxy}, []string{"X-Remote-User"}, []string{"X-Remote-Uid"}, []string{"X-Remote-Group"}, []string{"X-Remote-Extra-"}
	if a != nil && a.clients.pem != nil {
		clients = joinPEM(clients, a.clients.pem)
	}
	if a != nil && a.proxy != nil {
		h := a.trusted.headers
		proxies = joinPEM(proxies, a.trusted.pem)
		users, uids, groups, extras = union(users, h.UsernameHeaders), union(uids, h.UIDHeaders), union(groups, h.GroupHeaders), union(extras, h.ExtraHeadersPrefix)
		if names = union(names, h.AllowedNames); len(h.AllowedNames) == 0 {
			names = []string{} // any name
		}
	}
	data := map[string]string{"client-ca-file": string(clients), "requestheader-client-ca-file": string(proxies)}
	for key, values := range map[string][]string{
		"requestheader-allowed-names": names, "requestheader-username-headers": users, "requestheader-uid-headers": uids,
		"requestheader-group-headers": groups, "requestheader-extra-headers-prefix": extras,
	} {
		encoded, err := json.Marshal(values)
		if err != nil {
			return nil, fmt.Errorf("encoding %s: %w", key, err)
		}
		data[key] = string(encoded)
	}
	return data, nil
}

// joinPEM joins PEM files, each with a line break at its end.
func joinPEM(files ...[]byte) []byte {
	var joined []byte
	for _, file := range files {
		joined = append(append(joined, bytes.TrimSpace(file)...), '\n')
	}
	return joined
}

// union returns a list with the values of another one that it lacks.
func union(list, other []string) []string {
	for _, value := range other {
		if !slices.Contains(list, value) {
			list = append(list, value)
		}
	}
	return list
}
