package serving

import (
	"fmt"
	"net"
	"strings"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
)

// DefaultPort is kube-controller-manager's default port.
const DefaultPort = 10257

// Options configure the HTTPS server and the access to it. Their flags are upstream's
// (https://kubernetes.io/docs/reference/command-line-tools-reference/kube-controller-manager/).
type Options struct {
	// BindAddress is the IP address to listen on, and Port the port; 0 disables serving.
	BindAddress string
	Port        int
	// CertFile and KeyFile are the server's certificate and key, which are reloaded when
	// they change. Without them the server makes a self-signed certificate, in CertDir if
	// that is set.
	CertFile, KeyFile, CertDir string
	MinVersion                 string
	CipherSuites               []string
	// ClientCAFile is the CA of client certificates; empty: the one that the cluster
	// publishes in kube-system/extension-apiserver-authentication, if any.
	ClientCAFile string
	// AlwaysAllowPaths are served without authorization.
	AlwaysAllowPaths []string
}

// NewOptions returns upstream's defaults.
func NewOptions() *Options {
	return &Options{BindAddress: "0.0.0.0", Port: DefaultPort, AlwaysAllowPaths: []string{"/healthz", "/readyz", "/livez"}}
}

// AddFlags adds the flags to the same sets as upstream.
func (o *Options) AddFlags(sets *cliflag.NamedFlagSets) {
	o.addServingFlags(sets.FlagSet("secure serving"))
	sets.FlagSet("authentication").StringVar(&o.ClientCAFile, "client-ca-file", o.ClientCAFile,
		"certificate authority that client certificates are verified by (default the one that the cluster publishes in kube-system/extension-apiserver-authentication)")
	sets.FlagSet("authorization").StringSliceVar(&o.AlwaysAllowPaths, "authorization-always-allow-paths", o.AlwaysAllowPaths, "paths that are served without authorization")
}

func (o *Options) addServingFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.BindAddress, "bind-address", o.BindAddress, "IP address to serve HTTPS on")
	fs.IntVar(&o.Port, "secure-port", o.Port, "port to serve HTTPS on; 0 serves nothing. If the default port is in use, a free one is chosen")
	fs.StringVar(&o.CertDir, "cert-dir", o.CertDir, "directory that keeps the self-signed certificate made when there is no --tls-cert-file; without it, each start makes a new one")
	fs.StringVar(&o.CertFile, "tls-cert-file", o.CertFile, "certificate to serve HTTPS with, followed by those of its authorities")
	fs.StringVar(&o.KeyFile, "tls-private-key-file", o.KeyFile, "private key of --tls-cert-file")
	fs.StringVar(&o.MinVersion, "tls-min-version", o.MinVersion, "oldest TLS version to speak: "+strings.Join(cliflag.TLSPossibleVersions(), ", "))
	fs.StringSliceVar(&o.CipherSuites, "tls-cipher-suites", o.CipherSuites, "cipher suites to use (default Go's)")
}

// Validate returns an error for options that cannot work together.
func (o *Options) Validate() error {
	if o.Port < 0 || o.Port > 65535 {
		return fmt.Errorf("--secure-port=%d is not between 0 and 65535", o.Port)
	}
	if net.ParseIP(o.BindAddress) == nil {
		return fmt.Errorf("--bind-address=%s is not an IP address", o.BindAddress)
	}
	if (o.CertFile == "") != (o.KeyFile == "") {
		return fmt.Errorf("--tls-cert-file and --tls-private-key-file belong together")
	}
	if _, err := cliflag.TLSVersion(o.MinVersion); err != nil {
		return fmt.Errorf("--tls-min-version: %w", err)
	}
	if _, err := cliflag.TLSCipherSuites(o.CipherSuites); err != nil {
		return fmt.Errorf("--tls-cipher-suites: %w", err)
	}
	return nil
}
