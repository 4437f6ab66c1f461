package box

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// rejected is why curl does not take a URL, as its version 8 says it.
type rejected string

func (r rejected) Error() string { return "URL rejected: " + string(r) }

const (
	malformed = rejected("Malformed input to a URL function")
	noHost    = rejected("No host part in the URL")
	badPort   = rejected("Port number was not a decimal number between 0 and 65535")
	badIPv6   = rejected("Bad IPv6 address")
	badSlash  = rejected("Unsupported number of slashes following scheme")
)

// parseCurlLink reads a URL as curl does. The error is a rejected one.
func parseCurlLink(text string) (*link, error) {
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }) || text == "" {
		return nil, malformed
	}
	if scheme, rest, ok := strings.Cut(text, ":"); ok && isScheme(scheme) && strings.HasPrefix(rest, "/") {
		after := strings.TrimLeft(rest, "/")
		switch {
		case len(rest)-len(after) > 3:
			return nil, badSlash
		case after == "":
			return nil, noHost
		}
		text = strings.ToLower(scheme) + "://" + after
	} else if strings.Contains(text, "://") && !ok {
		return nil, malformed
	}
	l, err := parseLink(escapePercents(text))
	var number *strconv.NumError
	switch {
	case err == nil:
		return l, nil
	case errors.As(err, &number), strings.Contains(err.Error(), "invalid port"):
		return nil, badPort
	case strings.Contains(err.Error(), "missing ']'"):
		return nil, badIPv6
	case strings.HasSuffix(err.Error(), "has no host"):
		return nil, noHost
	}
	if at := strings.Index(text, "["); at >= 0 {
		if inside, _, ok := strings.Cut(text[at+1:], "]"); ok && badAddress(inside) {
			return nil, badIPv6
		}
	}
	return nil, malformed
}

func badAddress(text string) bool {
	_, err := netip.ParseAddr(text)
	return err != nil
}

// isScheme reports whether a text before a colon is the scheme of a URL that has slashes after it.
func isScheme(text string) bool {
	switch strings.ToLower(text) {
	case "http", "https", "telnet":
		return true
	}
	return false
}

// escapePercents escapes the percent signs after which no two hexadecimal digits come: curl sends them as they are.
func escapePercents(text string) string {
	var b strings.Builder
	for i := range len(text) {
		b.WriteByte(text[i])
		if text[i] != '%' {
			continue
		}
		if _, err := url.PathUnescape(text[i:min(len(text), i+3)]); err != nil {
			b.WriteString("25")
		}
	}
	return b.String()
}

// maxGlobbed bounds the URLs that one with braces and brackets stands for.
const maxGlobbed = 1000

// globbed returns the URLs that one with braces ({a,b}) or brackets ([1-9], [a-z:2]) stands for.
func globbed(text string) ([]string, error) {
	all := []string{""}
	for i := 0; i < len(text); {
		var values []string
		size := 1
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text) && strings.IndexByte("{}[]", text[i+1]) >= 0:
			values, size = []string{text[i+1 : i+2]}, 2
		case c == '{':
			inside, _, closed := strings.Cut(text[i+1:], "}")
			if !closed {
				return nil, globError("unmatched brace", i+1)
			}
			values, size = strings.Split(inside, ","), len(inside)+2
			if inside == "" {
				return nil, globError("empty string within braces", i+2)
			}
		case c == '[':
			inside, _, closed := strings.Cut(text[i+1:], "]")
			if closed && !badAddress(inside) { // an address
				values, size = []string{"[" + inside + "]"}, len(inside)+2
				break
			}
			if values = ranged(inside); !closed || values == nil {
				return nil, globError("bad range", i+2)
			}
			size = len(inside) + 2
		case c == '}', c == ']':
			return nil, globError("unmatched close brace/bracket", i+1)
		default:
			values = []string{text[i : i+1]}
		}
		i += size
		if len(all)*len(values) > maxGlobbed {
			return nil, globError("range overflow", i)
		}
		var next []string
		for _, before := range all {
			for _, value := range values {
				next = append(next, before+value)
			}
		}
		all = next
	}
	return all, nil
}

func globError(why string, at int) error {
	//lint:ignore ST1005 scripts see curl's text
	return fmt.Errorf("%s in URL position %d:", why, at)
}

// ranged returns the values of a range such as 1-9, 01-10, a-z or 1-9:2; nil if it is none.
func ranged(text string) []string {
	text, stepText, stepped := strings.Cut(text, ":")
	from, to, ok := strings.Cut(text, "-")
	step := 1
	if stepped {
		step, _ = strconv.Atoi(stepText)
	}
	if !ok || step < 1 {
		return nil
	}
	format, first, last := "%c", 0, -1
	if a, err := strconv.ParseUint(from, 10, 31); err == nil {
		b, err := strconv.ParseUint(to, 10, 31)
		if err != nil {
			return nil
		}
		format, first, last = "%0"+strconv.Itoa(len(from))+"d", int(a), int(b)
		if from[0] != '0' || len(from) > 10 {
			format = "%d"
		}
	} else if len(from) == 1 && len(to) == 1 {
		first, last = int(from[0]), int(to[0])
	}
	var all []string
	for n := first; n <= last && len(all) <= maxGlobbed; n += step {
		all = append(all, fmt.Sprintf(format, n))
	}
	return all
}

// curlSetupFailed is curl's exit code for a value of --resolve or --connect-to that it cannot read.
const curlSetupFailed = 49

// route returns where a request for a URL connects to: host is the one of --connect-to, and address the one of --resolve, or the host.
// Without one, code is the program's.
func (c *curling) route(l *link) (host, address string, port int32, code int) {
	host, port = l.host, l.port
	for _, text := range c.connectTos {
		fields := splitColons(text)
		for len(fields) < 4 {
			fields = append(fields, "")
		}
		if fields[0] != "" && !strings.EqualFold(fields[0], l.host) || fields[1] != "" && fields[1] != strconv.Itoa(int(l.port)) {
			continue
		}
		if fields[2] != "" {
			host = fields[2]
		}
		if fields[3] != "" {
			n, err := strconv.ParseUint(fields[3], 10, 16)
			if err != nil {
				return "", "", 0, c.report(curlSetupFailed, "No valid port number in connect to host string (%s)", fields[3])
			}
			port = int32(n)
		}
		break
	}
	known := map[string]string{}
	for _, text := range c.resolves {
		removed := strings.HasPrefix(text, "-")
		fields := splitColons(strings.TrimLeft(text, "+-"))
		if removed && len(fields) >= 2 {
			delete(known, strings.ToLower(fields[0])+":"+fields[1])
			continue
		}
		first := ""
		if len(fields) >= 3 {
			first, _, _ = strings.Cut(strings.Join(fields[2:], ":"), ",")
		}
		a, err := netip.ParseAddr(strings.Trim(first, "[]"))
		if _, notPort := strconv.ParseUint(strings.Join(fields[min(1, len(fields)):min(2, len(fields))], ""), 10, 16); err != nil || notPort != nil {
			return "", "", 0, c.report(curlSetupFailed, "Couldn't parse CURLOPT_RESOLVE entry '%s'", text)
		}
		known[strings.ToLower(fields[0])+":"+fields[1]] = a.String()
	}
	address = host
	for _, name := range []string{"*", strings.ToLower(host)} {
		if a, ok := known[name+":"+strconv.Itoa(int(port))]; ok {
			address = a
		}
	}
	return host, address, port, 0
}

// splitColons splits a text at its colons, but for those within brackets, which it removes.
func splitColons(text string) []string {
	var fields []string
	depth, begin := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '[':
			depth++
		case ']':
			depth--
		case ':':
			if depth == 0 {
				fields, begin = append(fields, text[begin:i]), i+1
			}
		}
	}
	fields = append(fields, text[begin:])
	for i, field := range fields {
		if strings.HasPrefix(field, "[") && strings.HasSuffix(field, "]") {
			fields[i] = field[1 : len(field)-1]
		}
	}
	return fields
}
