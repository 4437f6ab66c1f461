package outside

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/openrequests"
	"minikcm.dev/minikcm/internal/proxyserver"
)

// Protocol is the one to which a request for a connection of a pod is upgraded: the bytes of the connection.
const Protocol = "minikcm-connection"

// PodPath returns the path at which a process that stands for a pod makes a connection: POST with Upgrade: minikcm-connection, and the
// parameter to, HOST:PORT. The answer to one that does not arrive is 409 with a proxyserver.RefusedError.
func PodPath(pod types.NamespacedName) string {
	return Path + "/pods/" + pod.Namespace + "/" + pod.Name
}

// lazily is an entrance that begins with its first connection.
type lazily struct {
	once  sync.Once
	begin func() *entrance
	made  *entrance
	err   error
}

func (l *lazily) get() (*entrance, error) {
	l.once.Do(func() { l.made = l.begin() })
	return l.made, l.err
}

// end closes the entrance. None begins afterwards.
func (l *lazily) end() {
	l.once.Do(func() { l.err = errClosing })
	if l.made != nil {
		l.made.close()
	}
}

// connect makes a connection of a pod, and serves it until its end.
func (s *Service) connect(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	namespace, name, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, Path+"/pods/"), "/")
	if !ok || r.Method != http.MethodPost || !strings.EqualFold(r.Header.Get("Upgrade"), Protocol) {
		return apierrors.NewBadRequest(fmt.Sprintf("a connection is made by POST %s?to=HOST:PORT, upgraded to %s", PodPath(types.NamespacedName{Namespace: "NAMESPACE", Name: "POD"}), Protocol))
	}
	host, port, err := proxyserver.HostPort(r.URL.Query().Get("to"), false)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	e, err := s.lazy.get()
	if err != nil {
		return err
	}
	work := inflight.Begin(e.ledger, inflight.Request)
	path, err := e.kubelets.EnterFrom(ctx, types.NamespacedName{Namespace: namespace, Name: name}, host, port)
	work.End()
	to, err := e.route(path, err)
	var refused *proxyserver.RefusedError
	if errors.As(err, &refused) {
		openrequests.Answer(w, http.StatusConflict, refused)
		return nil
	}
	if err != nil {
		return err
	}
	conn, buffer, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return apierrors.NewBadRequest("a connection needs HTTP/1.1")
	}
	_ = conn.SetDeadline(time.Time{})
	if _, err := fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", Protocol); err != nil {
		return errors.Join(err, conn.Close())
	}
	s.join(e, proxyserver.NewBuffered(conn, buffer.Reader), to)
	return nil
}
