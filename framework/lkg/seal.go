package lkg

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
)

// saltSize is the number of random bytes from which the key of a file is derived. No two files have
// the same key, so the nonce may be constant.
const saltSize = 32

// A sealer encrypts and authenticates one file.
type sealer struct {
	salt []byte
	aead cipher.AEAD
}

func newSealer(key []byte) (*sealer, error) {
	salt := make([]byte, saltSize)
	_, _ = rand.Read(salt) // it never fails
	aead, err := fileKey(key, salt)
	return &sealer{salt, aead}, err
}

// fileKey returns the cipher of the file with the salt.
func fileKey(key, salt []byte) (cipher.AEAD, error) {
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

// seal encrypts a file from start on, in place. It authenticates the part before start, too.
func (s *sealer) seal(b []byte, start int) []byte {
	nonce := make([]byte, s.aead.NonceSize())
	sealed := s.aead.Seal(b[start:start], nonce, b[start:], b[:start]) //nolint:gosec // each file has a key of its own
	return append(b[:start], sealed...)
}

// open authenticates and decrypts a file, in place. It returns the part from start on.
func open(b []byte, start int, key, salt []byte) ([]byte, error) {
	aead, err := fileKey(key, salt)
	if err != nil {
		return nil, err
	}
	plain, err := aead.Open(b[start:start], make([]byte, aead.NonceSize()), b[start:], b[:start])
	if err != nil {
		return nil, errWrongKey
	}
	return plain, nil
}
