package parts

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/internal/featuregates"
	"minikcm.dev/minikcm/internal/members"
)

// Identify makes the API server known to others as the feature gates say: by a Lease, and by the StorageVersions
// that it reports. Apart from the API server's own objects, nothing has been written before, and no client can write:
// the StorageVersions hold for every object. Parts that it starts end with lifetime.
//
// On a shared store, it is the Lease of the member, which takes roles later (startSharing).
func (p *Parts) Identify(ctx, lifetime context.Context) error {
	gates := p.opts.Gates
	if !gates.Enabled(featuregates.APIServerIdentity) || p.opts.Shares && !gates.Enabled(featuregates.StorageVersionAPI) {
		return nil
	}
	keep := p.keepLease
	if p.opts.Shares {
		keep = func(ctx context.Context) (string, error) { return p.announce(ctx, lifetime) }
	}
	name, err := keep(ctx)
	if err != nil || !gates.Enabled(featuregates.StorageVersionAPI) {
		return err
	}
	return p.server.ReportStorageVersions(ctx, name)
}

// announce makes this process a member that takes no roles yet, and returns the name of its Lease.
func (p *Parts) announce(ctx, lifetime context.Context) (string, error) {
	member, err := p.newMember(lifetime)
	if err != nil {
		return "", err
	}
	if err := member.Announce(ctx); err != nil {
		return "", fmt.Errorf("creating the Lease of this process: %w", err)
	}
	p.announced = member
	p.opts.Group.run(lifetime, part{membership, member.Run})
	return member.Name(), nil
}

// virtualHost stands for the name of the host on a virtual clock, so that a run is the same on every machine.
const virtualHost = "minikcm"

// keepLease lets the server keep an identity Lease, and returns its name. As upstream, all processes on this
// host use the same name.
func (p *Parts) keepLease(ctx context.Context) (string, error) {
	hostname := ""
	if p.opts.Timing.Virtual == nil {
		var err error
		if hostname, err = os.Hostname(); err != nil {
			return "", fmt.Errorf("reading the host's name for the API server's identity: %w", err)
		}
	}
	name := members.Name(cmp.Or(hostname, virtualHost))
	return name, p.server.KeepIdentity(ctx, name, hostname)
}

// endIdentity deletes the Lease of keepLease, and ends the reports.
func (p *Parts) endIdentity(ctx context.Context) {
	if p.server == nil {
		return
	}
	if err := p.server.ReleaseIdentity(ctx); err != nil {
		p.opts.Notices.Error(err, "The Lease of the API server expires", "after", apiserver.IdentityLeaseDuration)
	}
}
