package main

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/apiserver"
)

// serverFlags configure the API server. They have kube-apiserver's names.
type serverFlags struct {
	flags            *pflag.FlagSet
	bindAddress      string
	advertiseAddress string
	serviceRanges    []string
	nodePorts        string
	reads, writes    int
	authorization    []string
	admission        admissionFlags
	authentication   authFlags
	audit            minikcm.Audit
	encryption       string
	reloadEncryption bool
	// authorizationConfig excludes authorization.
	authorizationConfig string
}

// register adds the flags to a flag set. modes are the default authorization modes.
func (f *serverFlags) register(flags *pflag.FlagSet, modes []string) {
	f.flags = flags
	flags.StringVar(&f.bindAddress, "bind-address", "127.0.0.1", "IP address to serve HTTPS on; 0.0.0.0 for all IPv4 addresses of the machine, :: for all of both families")
	flags.StringVar(&f.advertiseAddress, "advertise-address", "", "IP address in the endpoints of the kubernetes Service (default the --bind-address or, if that is a loopback address, the first other address of the machine)")
	flags.StringSliceVar(&f.serviceRanges, "service-cluster-ip-range", []string{"10.96.0.0/16"}, "CIDR range of cluster IPs, or one range per IP family, the default family first. Nodes and pods have addresses of the same families, unless --cluster-cidr says otherwise")
	flags.StringVar(&f.nodePorts, "service-node-port-range", "30000-32767", "range of node ports")
	flags.IntVar(&f.reads, "max-requests-inflight", 400, "maximum number of read requests served at the same time. The priority levels share the sum of this and --max-mutating-requests-inflight as their seats; if either is negative, there is no limit")
	flags.IntVar(&f.writes, "max-mutating-requests-inflight", 200, "maximum number of write requests served at the same time")
	flags.StringSliceVar(&f.authorization, "authorization-mode", modes, "what decides whether a user may make a request, in order: Node, RBAC, Webhook, AlwaysAllow, AlwaysDeny; the group system:masters may do everything")
	flags.StringVar(&f.authorizationConfig, "authorization-config", "", "file with an AuthorizationConfiguration: authorizers in order, webhooks with match conditions among them. It is followed, and excludes --authorization-mode and the --authorization-webhook flags")
	f.authentication.register(flags)
	f.admission.register(flags)
	registerAudit(flags, &f.audit)
	flags.StringVar(&f.encryption, "encryption-provider-config", "", "file with the apiserver.config.k8s.io/v1 EncryptionConfiguration that says which objects are stored encrypted")
	flags.BoolVar(&f.reloadEncryption, "encryption-provider-config-automatic-reload", false, "follow the file of --encryption-provider-config: its changes take effect without a restart")
}

// set sets the options that the flags describe.
func (f *serverFlags) set(opts *minikcm.Options) (err error) {
	opts.API.BindAddress, opts.API.AdvertiseAddress, opts.API.ServiceRanges, opts.API.NodePorts = f.bindAddress, f.advertiseAddress, f.serviceRanges, f.nodePorts
	opts.API.MaxRequests, opts.API.MaxMutatingRequests = f.reads, f.writes
	opts.Security.AuthorizationModes, opts.Security.AuthorizationWebhook = f.authorization, f.authentication.authorizationWebhook()
	opts.Security.Audit, opts.Storage.EncryptionConfig, opts.Storage.ReloadEncryptionConfig = f.audit, f.encryption, f.reloadEncryption
	if err := opts.Security.Audit.Validate(); err != nil {
		return badInput{err}
	}
	if err := f.admission.set(opts); err != nil {
		return badInput{err}
	}
	if err := f.authorizationOptions(opts); err != nil {
		return badInput{err}
	}
	opts.Security.Authentication, err = f.authentication.options()
	return err
}

// authorizationOptions sets the options that an AuthorizationConfiguration replaces.
func (f *serverFlags) authorizationOptions(opts *minikcm.Options) error {
	if f.authorizationConfig == "" {
		return nil
	}
	other := ""
	f.flags.Visit(func(flag *pflag.Flag) {
		if flag.Name == "authorization-mode" || strings.HasPrefix(flag.Name, "authorization-webhook-") {
			other = flag.Name
		}
	})
	if other != "" {
		return fmt.Errorf("--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined: remove --%s", other)
	}
	opts.Security.AuthorizationConfig, opts.Security.AuthorizationModes = f.authorizationConfig, nil
	_, err := apiserver.ReadAuthorizationConfig(f.authorizationConfig)
	return err
}
