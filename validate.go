package minikcm

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"slices"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/assembly/storage"
	"minikcm.dev/minikcm/internal/stages"
)

// Validate returns an error for options that cannot work together. Start calls it before
// it starts anything.
func (o *Options) Validate() error {
	if o.Storage.DataDir != "" && o.sharesStore() {
		return fmt.Errorf("a data directory (%s) and an external etcd were both given: choose one", o.Storage.DataDir)
	}
	if o.Security.Identity != nil && o.Storage.DataDir != "" {
		return fmt.Errorf("an identity and a data directory (%s), which has its own, were both given: choose one", o.Storage.DataDir)
	}
	if o.Storage.Snapshot != "" && (o.Storage.DataDir != "" || o.sharesStore()) {
		return fmt.Errorf("only a cluster of its own begins with a snapshot (%s), none with a data directory or an external etcd: restore the snapshot to it first", o.Storage.Snapshot)
	}
	if err := errors.Join(o.validateObjects(), o.Storage.History.validate()); err != nil {
		return err
	}
	if o.API.Port < 0 || o.API.Port > 65535 {
		return fmt.Errorf("port %d is not between 0 and 65535", o.API.Port)
	}
	if o.API.BindAddress != "" && net.ParseIP(o.API.BindAddress) == nil {
		return fmt.Errorf("bind address %q is not an IP address", o.API.BindAddress)
	}
	if _, err := o.network(); err != nil {
		return err
	}
	if err := o.identityFiles().Check(); err != nil {
		return err
	}
	if o.Storage.ReloadEncryptionConfig && o.Storage.EncryptionConfig == "" {
		return errors.New("--encryption-provider-config-automatic-reload must be set with --encryption-provider-config")
	}
	if err := o.Security.Audit.Validate(); err != nil {
		return err
	}
	if err := o.admission().Check(); err != nil {
		return err
	}
	if err := o.validateAuthorization(); err != nil {
		return err
	}
	if err := o.Security.Authentication.Validate(); err != nil {
		return err
	}
	switch o.Clock.Mode {
	case "", clock.ModeReal:
	case clock.ModeVirtual:
		if err := o.validatePace(); err != nil {
			return err
		}
	case clock.ModeScaled:
		if !(o.Clock.Speed > 0) || math.IsInf(o.Clock.Speed, 1) { // not a number is neither
			return fmt.Errorf("a scaled clock needs a factor above 0, not %v", o.Clock.Speed)
		}
	default:
		return fmt.Errorf("clock %q is none of %s, %s, %s", o.Clock.Mode, clock.ModeReal, clock.ModeScaled, clock.ModeVirtual)
	}
	if err := o.ValidateServing(); err != nil {
		return err
	}
	return o.validateParts()
}

// validateParts returns an error for options of the controllers, the scheduler and the nodes.
func (o *Options) validateParts() error {
	if _, err := o.selectedControllers(); err != nil {
		return err
	}
	if _, err := o.schedulerOptions(); err != nil {
		return err
	}
	if o.Sharing.LeaderElection && o.shares() {
		return errors.New("processes on one etcd divide the controllers and the scheduler among them, and elect no leaders: leave out the leader election")
	}
	if o.shares() && slices.ContainsFunc(o.Nodes.Stages.Manifests, func(m StageManifest) bool { return m.Kind == stages.Kind }) {
		return errors.New("Stages were given and other processes may share the etcd: their clocks do not agree, so no Stage would have effect")
	}
	if err := validateExtensions(o.API.Extensions); err != nil {
		return err
	}
	if err := CheckNodes(max(o.Nodes.Count, 0), o.Nodes.Spec, o.Nodes.Pools); err != nil {
		return err
	}
	if err := controllers.CheckCloudProvider(o.Nodes.Cloud); err != nil {
		return err
	}
	if err := o.Nodes.PodNetworks.check(o.declaredNodes()); err != nil {
		return err
	}
	return o.Nodes.Manage.Validate()
}

func (o *Options) validateAuthorization() error {
	if o.Security.AuthorizationConfig != "" {
		if len(o.Security.AuthorizationModes) > 0 || o.Security.AuthorizationWebhook != (AuthorizationWebhook{}) {
			return errors.New("--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined")
		}
		_, err := apiserver.ReadAuthorizationConfig(o.Security.AuthorizationConfig)
		return err
	}
	if err := apiserver.CheckAuthorizationModes(o.Security.AuthorizationModes); err != nil {
		return err
	}
	asked := slices.Contains(o.Security.AuthorizationModes, apiserver.AuthorizeWebhook)
	switch configured := o.Security.AuthorizationWebhook.ConfigFile != ""; {
	case asked && !configured:
		return errors.New("authorization-mode Webhook's authorization config file not passed")
	case configured && !asked:
		return errors.New("cannot specify --authorization-webhook-config-file without mode Webhook")
	}
	return o.Security.AuthorizationWebhook.Validate()
}

// validateObjects returns an error if objects would be loaded into a store that may
// already have a state.
func (o *Options) validateObjects() error {
	switch {
	case o.Storage.Objects == nil:
		return nil
	case o.Storage.Snapshot != "":
		return fmt.Errorf("a snapshot (%s) and objects to begin with were both given: choose one", o.Storage.Snapshot)
	case o.sharesStore():
		return errors.New("objects to begin with and an external etcd were both given: only a new cluster can begin with objects")
	case o.Storage.DataDir == "":
		return nil
	}
	if storage.HasState(o.Storage.DataDir) {
		return fmt.Errorf("the data directory %s has a cluster already: leave out the objects to begin with, or choose another directory", o.Storage.DataDir)
	}
	return nil
}

// validatePace returns an error for a speed at which a virtual clock cannot run.
func (o *Options) validatePace() error {
	if !o.timing().IsPaced() {
		return nil
	}
	if o.sharesStore() {
		return errors.New("a virtual clock that runs by itself and an external etcd were both given: processes that share an etcd have no clock in common, so choose a real or scaled one")
	}
	if o.Clock.Driven {
		return errors.New("a virtual clock cannot both run by itself and be driven: choose one")
	}
	return clock.ValidateSpeed(o.Clock.Speed)
}

// network holds the addresses in the options, parsed and checked.
type network struct {
	advertise netip.Addr
	ranges    []netip.Prefix
	nodePorts apiserver.PortRange
	balancers netip.Prefix
}

// The limits of upstream's apiserver for the size of a range, in bits of the host part.
const (
	fewestHostBits = 3
	mostHostBits   = 64
)

func (o *Options) network() (network, error) {
	var n network
	var err error
	if o.API.AdvertiseAddress != "" {
		n.advertise, err = netip.ParseAddr(o.API.AdvertiseAddress)
		if err != nil || n.advertise.IsLoopback() || n.advertise.IsUnspecified() || n.advertise.IsMulticast() || n.advertise.IsLinkLocalUnicast() {
			return n, fmt.Errorf("advertise address %q is not an IP address that Endpoints may name", o.API.AdvertiseAddress)
		}
	}
	if len(o.API.ServiceRanges) > 2 {
		return n, fmt.Errorf("%d ranges of cluster IPs were given: there may be one of each IP family", len(o.API.ServiceRanges))
	}
	for _, text := range o.API.ServiceRanges {
		prefix, err := parseRange(text)
		if err != nil {
			return n, err
		}
		n.ranges = append(n.ranges, prefix)
	}
	if len(n.ranges) == 2 && n.ranges[0].Addr().Is4() == n.ranges[1].Addr().Is4() {
		return n, fmt.Errorf("the ranges of cluster IPs %s and %s are of one IP family", n.ranges[0], n.ranges[1])
	}
	if n.advertise.IsValid() && len(n.ranges) > 0 && n.advertise.Is4() != n.ranges[0].Addr().Is4() {
		return n, fmt.Errorf("the advertise address %s is not of the IP family of the first range of cluster IPs, %s", n.advertise, n.ranges[0])
	}
	if o.API.NodePorts != "" {
		if n.nodePorts, err = apiserver.ParsePortRange(o.API.NodePorts); err != nil {
			return n, fmt.Errorf("reading the range of node ports: %w", err)
		}
	}
	if o.API.LoadBalancers != "" {
		n.balancers, err = netip.ParsePrefix(o.API.LoadBalancers)
		if err != nil || !n.balancers.Addr().Is4() || n.balancers.Addr().BitLen()-n.balancers.Bits() < fewestHostBits {
			return n, fmt.Errorf("the network of load balancers %q is not a network of IPv4 with 8 addresses at least, such as 198.18.0.0/15", o.API.LoadBalancers)
		}
		n.balancers = n.balancers.Masked()
	}
	return n, nil
}

func parseRange(text string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil || prefix.Addr().Is4In6() {
		return prefix, fmt.Errorf("the range of cluster IPs %q is not a network such as 10.96.0.0/16", text)
	}
	host := prefix.Addr().BitLen() - prefix.Bits()
	if host > mostHostBits || host < fewestHostBits {
		return prefix, fmt.Errorf("the range of cluster IPs %s must have 8 addresses at least, and a prefix of 64 bits at least if it is of IPv6", prefix)
	}
	return prefix.Masked(), nil
}

// errNotAllocated is the error of options for networks that nothing allocates.
var errNotAllocated = errors.New("--cluster-cidr and --node-cidr-mask-size have no effect without --allocate-node-cidrs")

// check returns an error for networks that cannot be allocated, or not to so many nodes.
func (p *PodNetworks) check(count int) error {
	if !p.Allocate {
		if *p != (PodNetworks{}) {
			return errNotAllocated
		}
		return nil
	}
	opts := controllers.NodeNetworks{ClusterCIDR: p.clusterCIDR(), MaskSize: p.MaskSize, IPv4MaskSize: p.IPv4MaskSize, IPv6MaskSize: p.IPv6MaskSize}
	room, err := opts.Room()
	if err != nil {
		return err
	}
	if count > room {
		return fmt.Errorf("%d nodes need more than the %d networks of --cluster-cidr=%s", count, room, opts.ClusterCIDR)
	}
	return nil
}

// validate returns an error for a history that cannot be kept.
func (h History) validate() error {
	switch {
	case h.Duration < 0, h.Revisions < 0:
		return errors.New("the history to keep must not be negative")
	case h.Duration > 0 && h.Revisions > 0:
		return errors.New("both a duration and a number of revisions of history were given: choose one")
	}
	return nil
}
