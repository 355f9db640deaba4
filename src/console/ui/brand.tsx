import { brand } from '../lib/brand.ts';
import './brand.css';

/** The logo and the name of the product. */
export function Brand() {
  return (
    <>
      {brand.logo ? (
        <img className="brand-logo" src={brand.logo} alt="" />
      ) : (
        <span className="brand-mark" aria-hidden="true" />
      )}
      <span className="brand-name">{brand.name}</span>
    </>
  );
}
