package box

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/applets"
	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// The texts of Python 3.11.
const (
	pythonUsage  = "usage: server.py [-h] [--cgi] [-b ADDRESS] [-d DIRECTORY] [-p VERSION] [port]\n"
	pythonServer = "SimpleHTTP/0.6 Python/3.11.7"
	// exitUsage is the exit code of a program whose arguments are wrong, and exitPython the one of an exception.
	exitUsage, exitPython = 2, 1
)

// pythonFiles is one run of http.server.
type pythonFiles struct {
	*proc
	home, address, protocol string
}

// python is Python's http.server, which serves the files beneath a directory. Nothing is known of other programs in Python.
func python(ctx context.Context, p *proc) int {
	args, unbuffered, ok := applets.FileServer(p.args)
	if !ok || p.machine.Network == nil || slices.Contains(args, "--cgi") {
		return foreign(ctx, p)
	}
	s := &pythonFiles{proc: p, home: p.dir, protocol: "HTTP/1.0"}
	port, code, ok := s.arguments(args)
	if !ok {
		return code
	}
	if port < 0 || port > 1<<16-1 {
		return s.raised("OverflowError: bind(): port must be 0-65535.")
	}
	if port == 0 {
		port = int(32768 + p.draw("python")%28000)
	}
	socket, err := p.machine.Network.Listen(int32(port), corev1.ProtocolTCP, p.machine.Main != nil)
	if err != nil {
		return s.raised("OSError: [Errno 98] Address already in use")
	}
	if unbuffered || p.env["PYTHONUNBUFFERED"] != "" || p.tty {
		shown := s.address
		if strings.Contains(shown, ":") {
			shown = "[" + shown + "]"
		}
		p.print("Serving HTTP on %s port %d (http://%s:%d/) ...\n", s.address, port, shown, port)
	}
	return p.serveRequests(ctx, socket, s.answer)
}

// arguments reads the arguments of the module. Not ok: code is the program's.
func (s *pythonFiles) arguments(args []string) (port, code int, ok bool) {
	port, s.address = 8000, "0.0.0.0"
	wrong := func(format string, words ...any) (int, int, bool) {
		_, _ = fmt.Fprintf(s.err, pythonUsage+"server.py: error: "+format+"\n", words...)
		return 0, exitUsage, false
	}
	var numbers []string
	for i := 0; i < len(args); i++ {
		name, value, given := strings.Cut(args[i], "=")
		into := map[string]*string{"-b": &s.address, "--bind": &s.address, "-d": &s.home, "--directory": &s.home, "-p": &s.protocol, "--protocol": &s.protocol}[name]
		if short := args[i][:min(2, len(args[i]))]; into == nil && len(args[i]) > 2 && strings.IndexByte("bdp", args[i][1]) >= 0 && args[i][0] == '-' {
			into, value, given = map[string]*string{"-b": &s.address, "-d": &s.home, "-p": &s.protocol}[short], args[i][2:], true
		}
		switch {
		case name == "-h" || name == "--help":
			s.print("%s", pythonUsage)
			return 0, 0, false
		case into == nil && strings.HasPrefix(name, "-"):
			return wrong("unrecognized arguments: %s", args[i])
		case into == nil:
			numbers = append(numbers, args[i])
		case given:
			*into = value
		case i+1 == len(args):
			return wrong("argument %s: expected one argument", map[byte]string{'b': "-b/--bind", 'd': "-d/--directory", 'p': "-p/--protocol"}[strings.TrimLeft(name, "-")[0]])
		default:
			i++
			*into = args[i]
		}
	}
	switch {
	case len(numbers) > 1:
		return wrong("unrecognized arguments: %s", strings.Join(numbers[1:], " "))
	case len(numbers) == 1:
		n, err := strconv.Atoi(numbers[0])
		if err != nil {
			return wrong("argument port: invalid int value: '%s'", numbers[0])
		}
		port = n
	}
	s.home = s.path(s.home)
	return port, 0, true
}

// raised reports an exception.
func (s *pythonFiles) raised(what string) int {
	_, _ = fmt.Fprintf(s.err, "Traceback (most recent call last):\n%s\n", what)
	return exitPython
}

// log writes a line about a request.
func (s *pythonFiles) log(peer netip.AddrPort, format string, args ...any) {
	_, _ = fmt.Fprintf(s.err, "%s - - [%s] %s\n", peer.Addr(), s.machine.Clock.Now().UTC().Format("02/Jan/2006 15:04:05"), fmt.Sprintf(format, args...))
}

// answer returns the answer to a request.
func (s *pythonFiles) answer(q *request) []byte {
	switch {
	case q.late:
		return nil
	case q.Request == nil:
		return s.error(q, http.StatusBadRequest, fmt.Sprintf("Bad request syntax ('%s')", q.line), "Bad request syntax or unsupported method")
	case q.Method != http.MethodGet && q.Method != http.MethodHead:
		return s.error(q, http.StatusNotImplemented, fmt.Sprintf("Unsupported method ('%s')", q.Method), "Server does not support this operation")
	}
	asked, _, _ := strings.Cut(q.RequestURI, "?")
	asked, _, _ = strings.Cut(asked, "#")
	name, err := url.PathUnescape(asked)
	if err != nil {
		name = asked
	}
	file := path.Join(s.home, path.Clean("/"+name))
	info, err := s.machine.Files.Stat(file)
	if err == nil && info.IsDir() {
		if !strings.HasSuffix(asked, "/") {
			return s.whole(q, http.StatusMovedPermanently, nil, "Location", asked+"/"+strings.TrimPrefix(q.RequestURI, asked), "Content-Length", "0")
		}
		index := slices.IndexFunc([]string{"index.html", "index.htm"}, func(name string) bool {
			found, err := s.machine.Files.Stat(path.Join(file, name))
			return err == nil && !found.IsDir()
		})
		if index < 0 {
			return s.list(q, file)
		}
		file = path.Join(file, []string{"index.html", "index.htm"}[index])
		info, err = s.machine.Files.Stat(file)
	} else if strings.HasSuffix(asked, "/") {
		err = fs.ErrNotExist
	}
	var data []byte
	if err == nil {
		data, err = s.machine.Files.ReadFile(file)
	}
	if errors.Is(err, unknown.ErrFile) { // the image may have it
		return s.whole(q, http.StatusOK, []byte(unknown.Line), "Content-type", pythonType(file))
	}
	if err != nil {
		return s.error(q, http.StatusNotFound, "File not found", "Nothing matches the given URI")
	}
	at := info.ModTime().UTC().Truncate(time.Second)
	if since, err := http.ParseTime(q.Header.Get("If-Modified-Since")); err == nil && q.Header.Get("If-None-Match") == "" && !at.After(since) {
		return s.whole(q, http.StatusNotModified, nil)
	}
	return s.whole(q, http.StatusOK, data, "Content-type", pythonType(file), "Content-Length", strconv.Itoa(len(data)), "Last-Modified", at.Format(http.TimeFormat))
}

// whole returns an answer, and logs it.
func (s *pythonFiles) whole(q *request, status int, body []byte, headers ...string) []byte {
	s.log(q.peer, "\"%s\" %d -", q.line, status)
	return s.head(q, status, http.StatusText(status), body, headers...)
}

// head returns an answer.
func (s *pythonFiles) head(q *request, status int, words string, body []byte, headers ...string) []byte {
	if q.Request == nil { // as to a client of HTTP/0.9
		return body
	}
	all := fmt.Appendf(nil, "%s %d %s\r\nServer: %s\r\nDate: %s\r\n", s.protocol, status, words, pythonServer, s.machine.Clock.Now().UTC().Format(http.TimeFormat))
	for i := 0; i+1 < len(headers); i += 2 {
		all = fmt.Appendf(all, "%s: %s\r\n", headers[i], headers[i+1])
	}
	if all = append(all, "\r\n"...); q.Method != http.MethodHead {
		all = append(all, body...)
	}
	return all
}

// error returns an answer that is an error.
func (s *pythonFiles) error(q *request, status int, what, why string) []byte {
	s.log(q.peer, "code %d, message %s", status, what)
	s.log(q.peer, "\"%s\" %d -", q.line, status)
	body := fmt.Appendf(nil, "<!DOCTYPE HTML>\n<html lang=\"en\">\n    <head>\n        <meta charset=\"utf-8\">\n        <title>Error response</title>\n    </head>\n    <body>\n        <h1>Error response</h1>\n"+
		"        <p>Error code: %[1]d</p>\n        <p>Message: %[2]s.</p>\n        <p>Error code explanation: %[1]d - %[3]s.</p>\n    </body>\n</html>\n", status, html.EscapeString(what), why)
	return s.head(q, status, what, body, "Connection", "close", "Content-Type", "text/html;charset=utf-8", "Content-Length", strconv.Itoa(len(body)))
}

// list returns the page that lists a directory.
func (s *pythonFiles) list(q *request, dir string) []byte {
	entries, err := s.machine.Files.ReadDir(dir)
	if err != nil {
		return s.error(q, http.StatusNotFound, "No permission to list directory", "Nothing matches the given URI")
	}
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace
	shown, err := url.PathUnescape(q.RequestURI)
	if err != nil {
		shown = q.RequestURI
	}
	title := "Directory listing for " + escape(shown)
	var b strings.Builder
	b.WriteString("<!DOCTYPE HTML>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>" + title + "</title>\n</head>\n<body>\n<h1>" + title + "</h1>\n<hr>\n<ul>\n")
	slices.SortStableFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(strings.ToLower(a.Name()), strings.ToLower(b.Name())) })
	for _, e := range entries {
		link, shown := e.Name(), e.Name()
		if info, err := s.machine.Files.Stat(path.Join(dir, e.Name())); err == nil && info.IsDir() {
			link, shown = link+"/", shown+"/"
		}
		if e.Type()&fs.ModeSymlink != 0 {
			shown = e.Name() + "@"
		}
		b.WriteString("<li><a href=\"" + quotedPath(link) + "\">" + escape(shown) + "</a></li>\n")
	}
	b.WriteString("</ul>\n<hr>\n</body>\n</html>\n")
	return s.whole(q, http.StatusOK, []byte(b.String()), "Content-type", "text/html; charset=utf-8", "Content-Length", strconv.Itoa(b.Len()))
}

// quotedPath returns a path as Python quotes it.
func quotedPath(text string) string {
	parts := strings.Split(text, "/")
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(string(urlEncode(nil, []byte(part))), "+", "%20")
	}
	return strings.Join(parts, "/")
}

// pythonType returns the type of a file, from Python's own table.
func pythonType(name string) string {
	extension := strings.ToLower(path.Ext(name))
	switch extension {
	case ".htm":
		return "text/html"
	case ".txt", ".c", ".h":
		return "text/plain"
	case ".css", ".csv", ".html", ".xml":
		return "text/" + extension[1:]
	case ".js", ".mjs":
		return "text/javascript"
	case ".md":
		return "text/markdown"
	case ".py":
		return "text/x-python"
	case ".svg":
		return "image/svg+xml"
	case ".png", ".gif", ".jpeg", ".webp":
		return "image/" + extension[1:]
	case ".jpg":
		return "image/jpeg"
	case ".ico":
		return "image/vnd.microsoft.icon"
	case ".json", ".pdf", ".wasm", ".zip":
		return "application/" + extension[1:]
	case ".sh", ".tar":
		return "application/x-" + extension[1:]
	case ".gz", ".tgz":
		return "application/gzip"
	case ".mp4", ".webm":
		return "video/" + extension[1:]
	case ".mp3":
		return "audio/mpeg"
	}
	return "application/octet-stream"
}
