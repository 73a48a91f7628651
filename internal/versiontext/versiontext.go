// Package versiontext recognizes the versions of resources that the stores of this module write: the digest of the content, 16
// hexadecimal digits, or the revision of a commit in base 36 before it, such as "1f-00112233445566ff". Programs may use any
// other text.
package versiontext

import "strings"

const (
	// Digits is the length of a digest.
	Digits = 16
	// maxRevision is the length of the largest revision in base 36.
	maxRevision = 13
)

// Digest returns the digest in a version, or "" if no store of this module wrote the version.
func Digest(version string) string {
	revision, digest, found := strings.Cut(version, "-")
	if !found {
		revision, digest = "0", version
	}
	if len(digest) != Digits || strings.Trim(digest, "0123456789abcdef") != "" {
		return ""
	}
	if n := len(revision); n == 0 || n > maxRevision || strings.Trim(revision, "0123456789abcdefghijklmnopqrstuvwxyz") != "" {
		return ""
	}
	return digest
}

// Same reports whether two versions identify the same content. Of versions that stores of this module wrote, it compares the
// digests. It compares others as a whole. No version is the same as an empty one.
func Same(a, b string) bool {
	if d := Digest(a); d != "" {
		return d == Digest(b)
	}
	return a == b && a != ""
}
