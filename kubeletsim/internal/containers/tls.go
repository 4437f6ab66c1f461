package containers

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/network/secure"
	"minikcm.dev/minikcm/kubeletsim/internal/listeners"
	"minikcm.dev/minikcm/kubeletsim/internal/memfs"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
	"minikcm.dev/minikcm/kubeletsim/internal/responses"
	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// servedKey identifies a certificate that a container serves.
type servedKey struct {
	container string
	files     responses.Files
}

// servedCertificate is a certificate as a run of a container has read it.
type servedCertificate struct {
	id   string
	read time.Time
	cert *tls.Certificate
}

// Certificate returns the source of the certificate of a TLS server at the end of a path; nil: the server speaks no TLS.
func (rt *Runtime) Certificate(n *nodes.Node, e Pod, path *reach.Path) secure.Source {
	if path.Listener == nil || !path.Listener.TLS {
		return nil
	}
	return func(ctx context.Context) (*tls.Certificate, error) {
		shown := e.See()
		at := listeners.Of(shown.Pod, shown.runs, int32(path.Target.Port()), corev1.ProtocolTCP)
		if at == nil || at.Files == nil {
			return nil, secure.ErrNoCertificate
		}
		in, err := rt.Running(n, e, at.Container)
		if err != nil {
			return nil, secure.ErrNoCertificate
		}
		return in.certificate(ctx, at.Files)
	}
}

// certificate returns the certificate in two of the container's files. Like the files of volumes on a real node, it follows its
// source within machineLife.
func (in *Ref) certificate(ctx context.Context, from *responses.Files) (*tls.Certificate, error) {
	f, now := in.entry.Files(), in.runtime.opts.Clock.Now()
	key := servedKey{in.spec.Name, *from}
	f.mu.Lock()
	kept := f.served[key]
	f.mu.Unlock()
	if kept != nil && kept.id == in.id && now.Sub(kept.read) < machineLife {
		return kept.cert, nil
	}
	chain, err := in.readFile(ctx, from.Certificate)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", secure.ErrNoCertificate, err)
	}
	private, err := in.readFile(ctx, from.Key)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", secure.ErrNoCertificate, err)
	}
	if bytes.Contains(chain, []byte(unknown.Line)) || bytes.Contains(private, []byte(unknown.Line)) {
		return nil, secure.ErrUnknown
	}
	cert, err := tls.X509KeyPair(chain, private)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", secure.ErrNoCertificate, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.served == nil {
		f.served = map[servedKey]*servedCertificate{}
	}
	f.served[key] = &servedCertificate{id: in.id, read: now, cert: &cert}
	return &cert, nil
}

// isBare reports whether a TLS server has no certificate.
func (in *Ref) isBare(ctx context.Context, from *responses.Files) bool {
	_, err := in.certificate(ctx, from)
	return err != nil && !errors.Is(err, secure.ErrUnknown)
}

// readFile reads one of the container's files. It reads the volumes only that the file is in: those with tokens would request one,
// about which a webhook may be asked that waits for this file.
func (in *Ref) readFile(ctx context.Context, name string) ([]byte, error) {
	ctx = in.runtime.opts.AsNode(ctx, in.node.Name)
	then := in.atStart()
	var env []string
	if slices.ContainsFunc(in.spec.VolumeMounts, func(m corev1.VolumeMount) bool { return m.SubPathExpr != "" }) {
		var err error
		if env, err = then.environment(ctx); err != nil {
			return nil, err
		}
	}
	_, run := in.root()
	view := memfs.NewView(run.tree)
	volumes, err := in.mount(ctx, view, env, then, name)
	if err != nil {
		return nil, err
	}
	defer volumes.release()
	return view.ReadFile(name)
}
