package box

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
)

// curlReadError is curl's exit code for a local file that cannot be read.
const curlReadError = 26

// curlData is a value of an option such as --data or --form, with the option's name.
type curlData struct{ option, text string }

// prepare returns the request; without one, code is the program's.
func (c *curling) prepare(ctx context.Context, l *link) (r *http.Request, code int) {
	method, kind := http.MethodGet, ""
	body := []byte(nil)
	if !c.read {
		if c.sent, code = c.body(ctx); code != 0 {
			return nil, code
		}
		c.read = true
	}
	switch {
	case c.has("upload-file"):
		if method = http.MethodPut; strings.HasSuffix(l.Path, "/") && !slices.Contains([]string{"-", "."}, c.flags["upload-file"]) {
			l.Path += path.Base(c.flags["upload-file"])
		}
		if body, code = c.upload(ctx); code != 0 {
			return nil, code
		}
	case c.has("head"):
		method = http.MethodHead
	case c.has("get"):
		c.addQuery(l, string(c.sent))
	case c.asGet:
	case len(c.form) > 0:
		boundary := fmt.Sprintf("------------------------%016x%06x", c.draw(l.host), c.draw("form")>>40)
		if body, code = c.multipart(ctx, boundary); code != 0 {
			return nil, code
		}
		method, kind = http.MethodPost, "multipart/form-data; boundary="+boundary
	case len(c.data) > 0:
		method, kind, body = http.MethodPost, "application/x-www-form-urlencoded", c.sent
	}
	for _, text := range c.query {
		part, ok := c.urlEncoded(ctx, text)
		if !ok {
			return nil, curlReadError
		}
		c.addQuery(l, string(part))
	}
	if strings.ContainsFunc(l.RawQuery, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return nil, c.report(curlMalformed, "URL rejected: Malformed input to a URL function")
	}
	method = cmp.Or(c.flags["request"], method)
	r, err := l.request(ctx, method, body, cmp.Or(c.flags["user-agent"], curlAgent))
	if err != nil {
		return nil, c.report(curlMalformed, "URL rejected: Malformed input to a URL function")
	}
	r.Header.Set("Accept", "*/*")
	if c.has("json") {
		r.Header.Set("Accept", "application/json")
		if kind != "" {
			kind = "application/json"
		}
	}
	for name, value := range map[string]string{"Content-Type": kind, "Referer": c.flags["referer"], "Range": c.ranges()} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	if token := c.flags["oauth2-bearer"]; token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	c.identify(l, r)
	return r, 0
}

// addQuery adds to the query of the first URL of a transfer.
func (c *curling) addQuery(l *link, text string) {
	if c.last.redirects > 0 || text == "" {
		return
	}
	if l.RawQuery != "" {
		text = l.RawQuery + "&" + text
	}
	l.RawQuery = text
	c.last.url = l.String()
}

// ranges returns the header of --range.
func (c *curling) ranges() string {
	text := c.flags["range"]
	if text == "" {
		return ""
	}
	if strings.Trim(text, "0123456789") == "" {
		text += "-"
	}
	return "bytes=" + text
}

// cannotRead reports a file of an option that cannot be read.
func (c *curling) cannotRead(option, name string) int {
	_, _ = fmt.Fprintf(c.err, "curl: Failed to open %s\n", name)
	_, _ = c.usage(option, "error encountered when reading a file")
	return curlReadError
}

// body returns the data of -d and its like, joined as curl does.
func (c *curling) body(ctx context.Context) (body []byte, code int) {
	for i, d := range c.data {
		if i > 0 && d.option != "json" {
			body = append(body, '&')
		}
		if d.option == "data-urlencode" {
			part, ok := c.urlEncoded(ctx, d.text)
			if !ok {
				return nil, curlReadError
			}
			body = append(body, part...)
			continue
		}
		name, isFile := strings.CutPrefix(d.text, "@")
		if !isFile || d.option == "data-raw" {
			body = append(body, d.text...)
			continue
		}
		data, err := c.readFile(ctx, name)
		if err != nil {
			return nil, c.cannotRead("--"+d.option, name)
		}
		if d.option == "data" {
			data = bytes.Map(func(r rune) rune {
				if r == '\r' || r == '\n' || r == 0 {
					return -1
				}
				return r
			}, data)
		}
		body = append(body, data...)
	}
	return body, 0
}

// urlEncoded returns a value of --data-urlencode: content, =content, name=content, @file or name@file.
func (c *curling) urlEncoded(ctx context.Context, text string) (part []byte, ok bool) {
	at := strings.IndexAny(text, "=@")
	if at < 0 {
		return urlEncode(nil, []byte(text)), true
	}
	if at > 0 {
		part = append([]byte(text[:at]), '=')
	}
	content := []byte(text[at+1:])
	if text[at] == '@' {
		data, err := c.readFile(ctx, text[at+1:])
		if err != nil {
			c.cannotRead("--data-urlencode", text[at+1:])
			return nil, false
		}
		content = data
	}
	return urlEncode(part, content), true
}

// urlEncode adds a text to another one as forms encode it.
func urlEncode(to, text []byte) []byte {
	for _, b := range text {
		switch {
		case b >= '0' && b <= '9', b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', strings.IndexByte("-._~", b) >= 0:
			to = append(to, b)
		case b == ' ':
			to = append(to, '+')
		default:
			to = fmt.Appendf(to, "%%%02X", b)
		}
	}
	return to
}

// upload returns the file of -T.
func (c *curling) upload(ctx context.Context) (body []byte, code int) {
	name := c.flags["upload-file"]
	if name == "." {
		name = "-"
	}
	body, err := c.readFile(ctx, name)
	if err != nil {
		_, _ = fmt.Fprintf(c.err, "curl: cannot open '%s'\ncurl: try 'curl --help' or 'curl --manual' for more information\n", name)
		return nil, c.report(curlReadError, "Failed to open/read local data from file/application")
	}
	return body, 0
}

// multipart returns the body of a form.
func (c *curling) multipart(ctx context.Context, boundary string) (body []byte, code int) {
	for _, d := range c.form {
		name, value, _ := strings.Cut(d.text, "=")
		content, file, kind := []byte(value), "", ""
		if d.option == "form" {
			var source byte
			var given bool
			if value != "" && (value[0] == '@' || value[0] == '<') {
				source, value = value[0], value[1:]
			}
			value, kind, file, given = formFields(value)
			content = []byte(value)
			if source != 0 {
				data, err := c.readFile(ctx, value)
				if err != nil {
					return nil, c.report(curlReadError, "Failed to open/read local data from file/application")
				}
				content = data
			}
			if source == '@' && !given {
				file = path.Base(value)
			}
			if source == '@' {
				kind = cmp.Or(kind, formType(file), formType(value), "application/octet-stream")
			}
		}
		body = fmt.Appendf(body, "--%s\r\nContent-Disposition: form-data; name=%s", boundary, formQuoted(name))
		if file != "" {
			body = fmt.Appendf(body, "; filename=%s", formQuoted(file))
		}
		if kind != "" {
			body = fmt.Appendf(body, "\r\nContent-Type: %s", kind)
		}
		body = append(append(append(body, "\r\n\r\n"...), content...), "\r\n"...)
	}
	return fmt.Appendf(body, "--%s--\r\n", boundary), 0
}

// formFields splits the value of a part from the fields type and filename after it.
func formFields(text string) (value, kind, file string, given bool) {
	value, rest := formWord(text)
	for rest != "" {
		field := ""
		field, rest = formWord(rest)
		name, text, _ := strings.Cut(strings.TrimLeft(field, " "), "=")
		switch name {
		case "type":
			kind = text
		case "filename":
			file, given = text, true
		}
	}
	return value, kind, file, given
}

// formWord returns a text up to a semicolon, without quotes, and what follows.
func formWord(text string) (word, rest string) {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		switch ch := text[i]; {
		case ch == '\\' && quoted && i+1 < len(text) && (text[i+1] == '"' || text[i+1] == '\\'):
			i++
			b.WriteByte(text[i])
		case ch == '"' && (quoted || i == 0 || text[i-1] == '='):
			quoted = !quoted
		case ch == ';' && !quoted:
			return b.String(), text[i+1:]
		default:
			b.WriteByte(ch)
		}
	}
	return b.String(), ""
}

// formQuoted returns a name as the header of a part has it.
func formQuoted(text string) string {
	return `"` + strings.NewReplacer(`"`, "%22", "\r", "%0D", "\n", "%0A").Replace(text) + `"`
}

// formType returns the type that curl gives a file with a name; empty if it knows none.
func formType(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".gif":
		return "image/gif"
	case ".jpg", ".jpeg":
		return "image/jpeg"
	case ".png":
		return "image/png"
	case ".svg":
		return "image/svg+xml"
	case ".txt":
		return "text/plain"
	case ".htm", ".html":
		return "text/html"
	case ".pdf":
		return "application/pdf"
	case ".xml":
		return "application/xml"
	}
	return ""
}
