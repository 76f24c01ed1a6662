#include "core/digest.hpp"

#include <algorithm>

#include <openssl/evp.h>

namespace pg_idem {

namespace {

// Plain pointers, initialised by the first digest: a throwing or locking initialiser has no place in
// a process that leaves functions by longjmp. Never freed: they live as long as the process.
EVP_MD *algorithm = nullptr;
EVP_MD_CTX *context = nullptr;

// Whether every step since `digest_begin` succeeded.
bool running = false;

void feed(void *, const char *bytes, std::size_t count) {
	if (running)
		running = EVP_DigestUpdate(context, bytes, count) == 1;
}

} // namespace

constinit const Sink digest_sink{feed, nullptr};

bool digest_begin() {
	if (algorithm == nullptr)
		algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
	if (context == nullptr)
		context = EVP_MD_CTX_new();
	running = algorithm != nullptr && context != nullptr &&
	          EVP_DigestInit_ex2(context, algorithm, nullptr) == 1;
	return running;
}

bool digest_end(Digest &digest) {
	const bool complete = running && EVP_DigestFinal_ex(context, digest.data(), nullptr) == 1;
	running = false;
	return complete;
}

Digest128 first_half(const Digest &digest) {
	Digest128 half;
	std::copy_n(digest.begin(), half.size(), half.begin());
	return half;
}

} // namespace pg_idem
