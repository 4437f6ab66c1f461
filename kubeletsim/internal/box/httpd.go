package box

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/netip"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// httpd is BusyBox's: it serves the files beneath a directory. Without -f, it goes on in the background.
func httpd(ctx context.Context, p *proc) int {
	if p.machine.Network == nil {
		return foreign(ctx, p)
	}
	flags, _, other := options(p.args[1:], "ifv", "cpurhmed", nil)
	switch {
	case other != "" && p.machine.Unknown: // another program of that name, such as Apache's
		return foreign(ctx, p)
	case other != "":
		return p.unsupported(other)
	}
	text := "80"
	if given, ok := flags['p']; ok {
		text = given[strings.LastIndexByte(given, ':')+1:]
	}
	port, _, ok := portRange(text)
	if !ok {
		return p.fail("bad port '%s'", text)
	}
	home := p.dir
	if given, ok := flags['h']; ok {
		home = p.path(given)
	}
	if info, err := p.machine.Files.Stat(home); err != nil || !info.IsDir() {
		if err == nil {
			err = syscall.ENOTDIR
		}
		return p.fail("can't change directory to '%s': %s", home, reason(err))
	}
	socket, code := p.listen(port, corev1.ProtocolTCP)
	if socket == nil {
		return code
	}
	if has(flags, 'f') {
		return p.serveRequests(ctx, socket, func(q *request) []byte { return p.fileAnswer(q, home) })
	}
	daemon := p.newProc(ctx, p.args, p.env, home)
	daemon.stdout, daemon.stderr, daemon.seed = p.session.out, p.session.err, p.seed
	p.Spawn(ctx, func(ctx context.Context) {
		daemon.bind(ctx)
		daemon.serveRequests(ctx, socket, func(q *request) []byte { return daemon.fileAnswer(q, home) })
	})
	return 0
}

// request is a request to a program that serves files; without a Request, it cannot be read.
type request struct {
	*http.Request
	// line is its first line, and peer the address that it comes from.
	line string
	peer netip.AddrPort
	// late means that it has not come in time.
	late bool
}

// serveRequests answers requests until ctx ends. An empty answer ends the connection.
func (p *proc) serveRequests(ctx context.Context, socket *Socket, answer func(*request) []byte) int {
	defer socket.close()
	for {
		e, err := p.accept(ctx, socket, 0)
		if err != nil {
			return p.lost(ctx, err)
		}
		p.beside(ctx, func(ctx context.Context) {
			defer func() { e.close(ctx.Err() != nil) }()
			limited, done := p.within(ctx, httpdPatience)
			in := bufio.NewReader(io.LimitReader(boundReader(limited, e), maxSent))
			line, err := in.ReadString('\n')
			q := &request{peer: e.peer, line: strings.TrimRight(line, "\r\n")}
			if err == nil {
				q.Request, err = http.ReadRequest(bufio.NewReader(io.MultiReader(strings.NewReader(line), in)))
			}
			if q.late = errors.Is(err, errLate); q.late || err == nil || !errors.Is(err, io.EOF) || line != "" {
				_, _ = boundWriter(ctx, e).Write(answer(q)) // the client may be gone
			}
			done()
		})
	}
}

// httpdPatience bounds the time in which a request has to come.
const httpdPatience = time.Minute

// fileAnswer returns httpd's answer to a request for a file.
func (p *proc) fileAnswer(r *request, home string) []byte {
	switch {
	case r.late:
		return p.errorAnswer(http.StatusRequestTimeout, "No request appeared within 60 seconds")
	case r.Request == nil:
		return p.errorAnswer(http.StatusBadRequest, "Unsupported method")
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return p.errorAnswer(http.StatusNotImplemented, "The requested method is not recognized")
	}
	name := path.Join(home, path.Clean("/"+r.URL.Path))
	info, err := p.machine.Files.Stat(name)
	if err == nil && info.IsDir() && !strings.HasSuffix(r.URL.Path, "/") {
		return p.answerHead(http.StatusFound, "text/html", "Location: "+r.URL.Path+"/\r\n")
	}
	if err == nil && info.IsDir() {
		name = path.Join(name, "index.html")
		info, err = p.machine.Files.Stat(name)
	}
	var data []byte
	if err == nil {
		data, err = p.machine.Files.ReadFile(name)
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		return p.errorAnswer(http.StatusForbidden, "")
	case err != nil:
		return p.errorAnswer(http.StatusNotFound, "The requested URL was not found")
	}
	at := info.ModTime().UTC()
	tag, status, kind, part := fmt.Sprintf("%x-%x", at.Unix(), len(data)), http.StatusOK, mediaType(path.Ext(name)), ""
	if from, to, ok := byteRange(r.Header.Get("Range"), len(data)); ok {
		kind = "text/html" // whatever it is
		status, part = http.StatusPartialContent, fmt.Sprintf("Content-Range: bytes %d-%d/%d\r\n", from, to, len(data))
		data = data[from : to+1]
	}
	head := p.answerHead(status, kind, fmt.Sprintf("%sAccept-Ranges: bytes\r\nLast-Modified: %s\r\nETag: \"%s\"\r\nContent-Length: %d\r\n", part, at.Format(http.TimeFormat), tag, len(data)))
	if r.Method == http.MethodHead {
		return head
	}
	return append(head, data...)
}

// byteRange reads the header of a request for a part of a file: its first and last byte. BusyBox's httpd heeds FROM- and FROM-TO.
func byteRange(text string, size int) (from, to int, ok bool) {
	text, isBytes := strings.CutPrefix(text, "bytes=")
	first, last, isRange := strings.Cut(text, "-")
	from, err := strconv.Atoi(first)
	if !isBytes || !isRange || err != nil || from < 0 || from >= size {
		return 0, 0, false
	}
	if to = size - 1; last != "" {
		n, err := strconv.Atoi(last)
		if err != nil || n < from {
			return 0, 0, false
		}
		to = min(to, n)
	}
	return from, to, true
}

// answerHead returns the status line and the headers of an answer.
func (p *proc) answerHead(status int, kind, more string) []byte {
	if kind != "" {
		more = "Content-type: " + kind + "\r\n" + more
	}
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nDate: %s\r\nConnection: close\r\n%s\r\n", status, http.StatusText(status), p.machine.Clock.Now().UTC().Format(http.TimeFormat), more)
}

func (p *proc) errorAnswer(status int, why string) []byte {
	title := fmt.Sprintf("%d %s", status, http.StatusText(status))
	return append(p.answerHead(status, "text/html", ""), fmt.Sprintf("<HTML><HEAD><TITLE>%s</TITLE></HEAD>\n<BODY><H1>%s</H1>\n%s\n</BODY></HTML>\n", title, title, why)...)
}

// mediaType returns the type of files with an extension, as httpd has them built in; empty for others.
func mediaType(extension string) string {
	switch extension {
	case ".htm", ".html":
		return "text/html"
	case ".txt", ".h", ".c", ".cc", ".cpp":
		return "text/plain"
	case ".css":
		return "text/css"
	case ".js":
		return "application/javascript"
	case ".svg":
		return "image/svg+xml"
	case ".png", ".gif":
		return "image/" + extension[1:]
	case ".jpg", ".jpeg":
		return "image/jpeg"
	}
	return ""
}
