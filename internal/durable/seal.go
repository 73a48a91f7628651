package durable

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
)

// saltSize is the number of random bytes from which the key of a file is derived. No two files have the same key,
// so the nonce may be constant.
const saltSize = 32

// ErrKey is the error of a file that another key has sealed, or that is damaged.
var ErrKey = errors.New("authentication failed: the file is damaged, or the key is another one")

// A Sealer encrypts and authenticates one file.
type Sealer struct {
	Salt []byte // has to be in the part of the file that is not encrypted
	aead cipher.AEAD
}

// NewSealer returns a sealer with a fresh salt. The magic identifies the format of the file.
func NewSealer(key []byte, magic string) (*Sealer, error) {
	salt := make([]byte, saltSize)
	_, _ = rand.Read(salt) // it never fails
	aead, err := fileKey(key, salt, magic)
	return &Sealer{salt, aead}, err
}

// fileKey returns the cipher of the file with the salt.
func fileKey(key, salt []byte, magic string) (cipher.AEAD, error) {
	derived, err := hkdf.Key(sha256.New, key, salt, magic, 32)
	if err != nil {
		return nil, fmt.Errorf("deriving the key of the file: %w", err)
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, fmt.Errorf("creating the cipher of the file: %w", err)
	}
	return cipher.NewGCM(block)
}

// Seal encrypts a file from start on, in place. It authenticates the part before start, too.
func (s *Sealer) Seal(b []byte, start int) []byte {
	nonce := make([]byte, s.aead.NonceSize())
	sealed := s.aead.Seal(b[start:start], nonce, b[start:], b[:start]) //nolint:gosec // each file has a key of its own
	return append(b[:start], sealed...)
}

// Unseal authenticates and decrypts a file, in place. It returns the part from start on.
func Unseal(b []byte, start int, key, salt []byte, magic string) ([]byte, error) {
	aead, err := fileKey(key, salt, magic)
	if err != nil {
		return nil, err
	}
	plain, err := aead.Open(b[start:start], make([]byte, aead.NonceSize()), b[start:], b[:start])
	if err != nil {
		return nil, ErrKey
	}
	return plain, nil
}
