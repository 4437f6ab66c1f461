package box

import (
	"path"
	"strings"
)

// options splits a program's arguments into flags and the rest. takes are the letters
// whose flags have a value, long has the letters of options such as --recursive. It returns the first option
// that is none of them.
func options(args []string, known, takes string, long map[string]byte) (flags map[byte]string, rest []string, other string) {
	flags = map[byte]string{}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--":
			return flags, append(rest, args...), ""
		case len(arg) < 2 || arg[0] != '-':
			rest = append(rest, arg)
			continue
		case strings.HasPrefix(arg, "--"):
			name, value, given := strings.Cut(arg[2:], "=")
			c, ok := long[name]
			if !ok {
				return flags, rest, arg
			}
			if !given && strings.IndexByte(takes, c) >= 0 && len(args) > 0 {
				value, args = args[0], args[1:]
			} else if !given {
				value = "set"
			}
			flags[c] = value
			continue
		}
		for i := 1; i < len(arg); i++ {
			c := arg[i]
			switch {
			case strings.IndexByte(takes, c) >= 0:
				value := arg[i+1:]
				if value == "" && len(args) > 0 {
					value, args = args[0], args[1:]
				}
				flags[c] = value
				i = len(arg)
			case strings.IndexByte(known, c) >= 0:
				flags[c] = "set"
			default:
				return flags, rest, "-" + string(c)
			}
		}
	}
	return flags, rest, ""
}

// parse is options for a program that fails on an unknown flag.
func (p *proc) parse(known, takes string) (flags map[byte]string, rest []string, ok bool) {
	flags, rest, other := options(p.args[1:], known, takes, longOptions(path.Base(p.args[0])))
	if other != "" {
		p.unsupported(other)
		return nil, nil, false
	}
	return flags, rest, true
}

func has(flags map[byte]string, c byte) bool {
	_, ok := flags[c]
	return ok
}

// longOptions returns the letters of a program's long options. Options that change nothing here have the
// letter '_'.
func longOptions(program string) map[string]byte {
	switch program {
	case "cp", "mv", "ln", "install":
		return map[string]byte{
			"archive": 'a', "recursive": 'r', "force": 'f', "no-clobber": 'n', "update": 'u', "verbose": 'v', "preserve": '_', "no-preserve": '_', "dereference": 'L',
			"no-dereference": 'P', "no-target-directory": 'T', "target-directory": 't', "remove-destination": 'f', "reflink": '_', "sparse": '_', "symbolic": 's', "relative": 'r',
			"mode": 'm', "owner": 'o', "group": 'g', "directory": 'd', "strip-trailing-slashes": '_', "parents": 'x',
		}
	case "nc":
		return map[string]byte{"sctp": 'S', "udp": 'u', "listen": 'l', "keep-open": 'k'} // as in nmap's ncat
	case "rm", "rmdir":
		return map[string]byte{"recursive": 'r', "force": 'f', "verbose": 'v', "dir": 'd', "one-file-system": '_', "no-preserve-root": '_', "preserve-root": '_', "parents": 'p', "ignore-fail-on-non-empty": '_'}
	case "mkdir":
		return map[string]byte{"parents": 'p', "mode": 'm', "verbose": 'v'}
	case "chmod", "chown", "chgrp":
		return map[string]byte{"recursive": 'R', "verbose": 'v', "silent": 'f', "quiet": 'f', "changes": 'c', "reference": '=', "no-dereference": 'h', "dereference": '_', "from": '@', "preserve-root": '_'}
	case "touch":
		return map[string]byte{"no-create": 'c', "date": 'd', "reference": 'r'}
	case "ls":
		return map[string]byte{
			"all": 'a', "almost-all": 'A', "human-readable": 'h', "recursive": 'R', "reverse": 'r', "directory": 'd', "color": '_', "time-style": '_', "full-time": 'l',
			"group-directories-first": '_', "size": '_', "inode": '_', "numeric-uid-gid": 'n', "no-group": '_', "classify": 'F', "sort": '_', "time": '_',
		}
	case "stat":
		return map[string]byte{"format": 'c', "printf": 'P', "dereference": 'L', "terse": 't', "file-system": 'f'}
	case "sort":
		return map[string]byte{
			"numeric-sort": 'n', "reverse": 'r', "unique": 'u', "key": 'k', "field-separator": 't', "version-sort": 'V', "human-numeric-sort": 'h', "ignore-case": 'f',
			"stable": 's', "zero-terminated": 'z', "general-numeric-sort": 'g', "output": 'o', "ignore-leading-blanks": 'b', "dictionary-order": 'd', "check": 'c',
		}
	case "grep", "egrep", "fgrep":
		return map[string]byte{
			"extended-regexp": 'E', "fixed-strings": 'F', "perl-regexp": 'P', "basic-regexp": 'G', "ignore-case": 'i', "invert-match": 'v', "count": 'c', "line-number": 'n',
			"quiet": 'q', "silent": 'q', "only-matching": 'o', "files-with-matches": 'l', "files-without-match": 'L', "no-filename": 'h', "with-filename": 'H', "no-messages": 's',
			"recursive": 'r', "word-regexp": 'w', "line-regexp": 'x', "regexp": 'e', "file": 'f', "max-count": 'm', "color": '_', "colour": '_', "text": '_', "line-buffered": '_',
			"after-context": 'A', "before-context": 'B', "context": 'C',
		}
	case "head", "tail":
		return map[string]byte{"lines": 'n', "bytes": 'c', "quiet": 'q', "silent": 'q', "verbose": 'v', "follow": 'f', "retry": '_', "pid": '_', "sleep-interval": '_'}
	case "wc":
		return map[string]byte{"lines": 'l', "words": 'w', "bytes": 'c', "chars": 'm'}
	case "cut":
		return map[string]byte{"delimiter": 'd', "fields": 'f', "characters": 'c', "bytes": 'b', "only-delimited": 's', "output-delimiter": 'o', "complement": 'C'}
	case "tr":
		return map[string]byte{"delete": 'd', "squeeze-repeats": 's', "complement": 'c'}
	case "uniq":
		return map[string]byte{"count": 'c', "repeated": 'd', "unique": 'u', "ignore-case": 'i'}
	case "tee":
		return map[string]byte{"append": 'a', "ignore-interrupts": 'i'}
	case "base64":
		return map[string]byte{"decode": 'd', "wrap": 'w', "ignore-garbage": 'i'}
	case "md5sum", "sha1sum", "sha256sum", "sha512sum":
		return map[string]byte{"check": 'c', "status": 's', "quiet": 'q', "binary": '_', "text": '_', "strict": '_', "warn": '_', "ignore-missing": '_'}
	case "mktemp":
		return map[string]byte{"directory": 'd', "tmpdir": 'p', "quiet": 'q', "dry-run": 'u', "suffix": 's'}
	case "readlink", "realpath":
		return map[string]byte{"canonicalize": 'f', "canonicalize-existing": 'e', "canonicalize-missing": 'm', "no-newline": 'n', "quiet": 'q', "silent": 'q', "strip": 's', "no-symlinks": 's'}
	case "du", "df":
		return map[string]byte{"human-readable": 'h', "summarize": 's', "max-depth": 'd', "all": 'a', "bytes": 'b', "apparent-size": '_', "portability": 'P', "total": '_', "block-size": 'B', "output": 'o'}
	case "id":
		return map[string]byte{"user": 'u', "group": 'g', "groups": 'G', "name": 'n', "real": 'r'}
	case "sysctl":
		return map[string]byte{"write": 'w', "quiet": 'q', "values": 'n', "ignore": 'e', "all": 'a', "load": 'p', "system": 'S'}
	case "uname":
		return map[string]byte{"all": 'a', "kernel-name": 's', "nodename": 'n', "kernel-release": 'r', "kernel-version": 'v', "machine": 'm', "processor": 'p', "operating-system": 'o'}
	case "cat":
		return map[string]byte{"number": 'n', "show-all": 'A', "squeeze-blank": 's', "number-nonblank": 'b'}
	case "seq":
		return map[string]byte{"separator": 's', "equal-width": 'w', "format": 'f'}
	case "sed":
		return map[string]byte{
			"regexp-extended": 'E', "quiet": 'n', "silent": 'n', "expression": 'e', "file": 'f', "in-place": 'i', "separate": 's', "null-data": 'z', "unbuffered": 'u', "follow-symlinks": '_', "posix": '_',
		}
	}
	return moreLongOptions(program)
}

func moreLongOptions(program string) map[string]byte {
	switch program {
	case "mount":
		return map[string]byte{
			"bind": 'B', "rbind": 'R', "types": 't', "options": 'o', "read-only": 'r', "rw": 'w', "read-write": 'w', "verbose": 'v', "no-mtab": 'n', "make-shared": '~', "make-rshared": '~', "make-slave": '~',
			"make-rslave": '~', "make-private": '~', "make-rprivate": '~',
		}
	case "umount":
		return map[string]byte{"lazy": 'l', "force": 'f', "recursive": 'R', "verbose": 'v', "no-mtab": 'n'}
	case "split":
		return map[string]byte{"lines": 'l', "bytes": 'b', "suffix-length": 'a', "numeric-suffixes": 'd', "additional-suffix": 'S', "verbose": 'v'}
	case "wget":
		return map[string]byte{
			"quiet": 'q', "no-verbose": 'q', "output-document": 'O', "output-file": 'o', "timeout": 'T', "tries": 't', "directory-prefix": 'P', "user-agent": 'U', "server-response": 'S', "spider": 's', "continue": 'c',
			"post-data": 'd', "post-file": 'f', "no-check-certificate": 1, "connect-timeout": 'T', "read-timeout": 'T', "dns-timeout": 't', "retry-connrefused": '_', "waitretry": 't', "progress": '_', "no-cache": '_', "no-proxy": '_',
			"proxy": 'Y', "content-on-error": '_', "show-progress": '_', "non-verbose": 'q',
		}
	case "comm":
		return map[string]byte{"check-order": '_', "nocheck-order": '_', "output-delimiter": 'o'}
	}
	return nil
}

// The options that implementations of wget (GNU's, BusyBox's) and of nc (BusyBox's, OpenBSD's, the traditional one, nmap's ncat) have.
const (
	wgetLetters = "46ABDEFHIKLNOPQRSTUVXYabcdehiklmnopqrtvwx"
	wgetOptions = " accept accept-regex adjust-extension append-output ask-password auth-no-challenge background backup-converted backups base bind-address body-data body-file ca-certificate ca-directory certificate " +
		"certificate-type ciphers compression config connect-timeout content-disposition content-on-error continue convert-file-only convert-links crl-file cut-dirs debug default-page delete-after directory-prefix " +
		"dns-timeout domains exclude-directories exclude-domains execute follow-ftp follow-tags force-directories force-html ftp-password ftp-user ftps-clear-data-connection ftps-fallback-to-ftp ftps-implicit " +
		"ftps-resume-ssl header help hsts-file http-password http-user https-only ignore-case ignore-length ignore-tags include-directories inet4-only inet6-only input-file keep-session-cookies level limit-rate " +
		"load-cookies local-encoding max-redirect method mirror no-cache no-check-certificate no-clobber no-config no-cookies no-directories no-dns-cache no-glob no-host-directories no-hsts no-http-keep-alive " +
		"no-if-modified-since no-iri no-netrc no-parent no-passive-ftp no-proxy no-remove-listing no-use-server-timestamps no-verbose no-warc-compression no-warc-digests no-warc-keep-log output-document output-file " +
		"page-requisites password pinnedpubkey post-data post-file prefer-family preserve-permissions private-key private-key-type progress protocol-directories proxy proxy-password proxy-user quiet quota random-wait " +
		"read-timeout recursive referer regex-type reject reject-regex rejected-log relative remote-encoding report-speed restrict-file-names retr-symlinks retry-connrefused retry-on-http-error save-cookies " +
		"save-headers secure-protocol server-response show-progress span-hosts spider start-pos strict-comments timeout timestamping tries trust-server-names unlink use-askpass user user-agent verbose version wait " +
		"waitretry warc-cdx warc-dedup warc-file warc-header warc-max-size warc-tempdir xattr "
	netcatLetters = "46CDFGIMNOPSTUVWXZbcdeghiklmnopqrstuvwxz"
	netcatOptions = " allow allowfile append-output broker chat crlf delay deny denyfile exec help hex-dump idle-timeout keep-open listen lua-exec max-conns no-shutdown nodns output proxy proxy-auth proxy-dns proxy-type " +
		"recv-only send-only sctp sh-exec source source-port ssl ssl-alpn ssl-cert ssl-ciphers ssl-key ssl-servername ssl-trustfile ssl-verify telnet udp unixsock verbose version vsock wait zero "
)

// isMisspelt reports whether no implementation of a program has an option, as far as these are known. GNU's programs take the beginnings
// of options, and the opposites of those without a value.
func isMisspelt(program, option string) bool {
	letters, options := "", ""
	switch path.Base(program) {
	case "wget":
		letters, options = wgetLetters, wgetOptions
	case "nc":
		letters, options = netcatLetters, netcatOptions
	default:
		return false
	}
	name, isLong := strings.CutPrefix(option, "--")
	if !isLong {
		return !strings.Contains(letters, strings.TrimPrefix(option, "-"))
	}
	name, _, _ = strings.Cut(name, "=")
	return !strings.Contains(options, " "+name) && !strings.Contains(options, " "+strings.TrimPrefix(name, "no-"))
}
